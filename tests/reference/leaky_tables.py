"""Invented tables with the relations of public ones whose releases were true and protected nobody."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def liver_patients(records: int = 3_000, seed: int = 1) -> pa.Table:
    """Return patients whose body mass index follows from weight and height."""
    draws = np.random.default_rng(seed)
    sex = draws.choice(["M", "F"], records)
    height = np.round(draws.normal(np.where(sex == "M", 175, 162), 8, records))
    weight = np.round(draws.normal(np.where(sex == "M", 92, 80), 19, records).clip(40, 190), 1)
    return pa.table(
        {
            "id": np.arange(1, records + 1),
            "age": draws.normal(53, 14, records).clip(18, 98).astype(int),
            "male": (sex == "M").astype(int),
            "weight": weight,
            "height": height,
            "bmi": np.round(weight / (height / 100) ** 2, 1),
            "case_id": draws.permutation(records) + 10_000,
            "futime": draws.integers(7, 7_000, records),
            "status": (draws.random(records) < 0.08).astype(int),
        }
    )


def loans(records: int = 3_000, seed: int = 2) -> pa.Table:
    """Return loans of which two amounts give a third, for all but a few records."""
    draws = np.random.default_rng(seed)
    income = np.round(draws.lognormal(11, 0.5, records), -2)
    amount = draws.integers(40, 1_600, records) * 25
    principal = np.round(amount * draws.beta(1, 6, records), 2)
    balance = np.round(amount - principal, 2)
    wrong = draws.random(records) < 0.001
    interest = np.round(amount * draws.beta(1, 20, records), 2)
    return pa.table(
        {
            "emp_title": [f"job {n}" for n in draws.integers(0, 400, records)],
            "state": draws.choice(["CA", "TX", "NY", "FL", "OH", "IL", "PA", "GA"], records),
            "homeownership": draws.choice(["RENT", "MORTGAGE", "OWN"], records),
            "annual_income": income,
            "debt_to_income": np.round(draws.gamma(3, 6, records), 2),
            "delinq_2y": draws.poisson(0.2, records),
            "total_credit_lines": draws.poisson(22, records),
            "num_total_cc_accounts": draws.poisson(12, records),
            "num_cc_carrying_balance": draws.poisson(5, records),
            "loan_purpose": draws.choice(["car", "house", "medical", "moving", "other"], records),
            "loan_amount": amount,
            "term": draws.choice([36, 60], records),
            "interest_rate": draws.choice(np.round(np.linspace(5.3, 30.8, 58), 2), records),
            "balance": np.where(wrong, balance + 17.5, balance),
            "paid_total": np.round(principal + interest, 2),
            "paid_principal": principal,
            "paid_interest": interest,
        }
    )


def court_records(records: int = 2_500, seed: int = 3) -> pa.Table:
    """Return court records with copies of dates and counts, and many columns that are unique together."""
    draws = np.random.default_rng(seed)
    born = np.datetime64("1945-01-01") + draws.integers(0, 19_000, records).astype("timedelta64[D]")
    screened = np.datetime64("2013-01-01") + draws.integers(0, 730, records).astype("timedelta64[D]")
    jailed = screened - draws.integers(0, 3, records).astype("timedelta64[D]")
    priors = draws.poisson(3, records)
    score = draws.integers(1, 11, records)
    age = ((np.datetime64("2016-04-01") - born).astype(int) / 365.2425).astype(int)
    charges = np.array([f"Offence {n} of degree {n % 7}" for n in range(400)])
    skewed = np.minimum(draws.zipf(1.4, (2, records)) - 1, 399)
    return pa.table(
        {
            "id": np.arange(1, records + 1),
            "sex": draws.choice(["Male", "Female"], records, p=[0.8, 0.2]),
            "dob": born,
            "age": age,
            "age_cat": np.where(age < 25, "Less than 25", np.where(age <= 45, "25 - 45", "Greater than 45")),
            "race": draws.choice(
                ["African-American", "Caucasian", "Hispanic", "Other"], records, p=[0.5, 0.3, 0.1, 0.1]
            ),
            "juv_fel_count": draws.poisson(0.1, records),
            "priors_count": priors,
            "priors_count.1": priors,
            "compas_screening_date": screened,
            "screening_date": screened,
            "v_screening_date": screened,
            "c_jail_in": jailed,
            "days_b_screening_arrest": (screened - jailed).astype(int),
            "c_charge_degree": draws.choice(["F", "M"], records),
            "c_charge_desc": charges[skewed[0]],
            "r_charge_desc": charges[skewed[1]],
            "decile_score": score,
            "decile_score.1": score,
            "score_text": np.where(score <= 4, "Low", np.where(score <= 7, "Medium", "High")),
            "v_decile_score": draws.integers(1, 11, records),
            "is_recid": (draws.random(records) < 0.45).astype(int),
        }
    )


def killings_by_place(records: int = 467, seed: int = 4) -> pa.Table:
    """Return people killed, with figures of the census tract where it happened."""
    draws = np.random.default_rng(seed)
    tracts = 430
    place = draws.integers(0, tracts, records)
    latitude, longitude = draws.uniform(26, 48, tracts), draws.uniform(-122, -71, tracts)
    personal, household = draws.integers(9_000, 60_000, tracts), draws.integers(12_000, 140_000, tracts)
    county = draws.integers(0, 180, tracts)
    county_income = draws.integers(30_000, 90_000, 180)[county]
    days = np.datetime64("2015-01-01") + draws.integers(0, 150, records).astype("timedelta64[D]")
    return pa.table(
        {
            "name": [f"Person {chr(65 + n % 26)}. Number{n}" for n in range(records)],
            "age": draws.normal(37, 13, records).clip(16, 87).astype(int),
            "gender": draws.choice(["Male", "Female"], records, p=[0.95, 0.05]),
            "raceethnicity": draws.choice(
                ["White", "Black", "Hispanic/Latino", "Unknown"], records, p=[0.5, 0.3, 0.15, 0.05]
            ),
            "date": days,
            "month": days.astype("datetime64[M]").astype(int) % 12 + 1,
            "city": [f"city {n}" for n in place],
            "state": np.array(["CA", "TX", "FL", "AZ", "OH", "GA", "NY", "OK"])[county % 8][place],
            "latitude": np.round(latitude, 6)[place],
            "longitude": np.round(longitude, 6)[place],
            "tract_ce": (10_000 + np.arange(tracts) * 37)[place],
            "county_fp": county[place] + 1,
            "p_income": personal[place],
            "h_income": household[place],
            "county_income": county_income[place],
            "comp_income": np.round(household / county_income, 6)[place],
            "pov": np.round(draws.uniform(1, 60, tracts), 1)[place],
            "cause": draws.choice(["Gunshot", "Taser", "Death in custody", "Struck by vehicle"], records),
            "armed": draws.choice(["Firearm", "No", "Knife", "Other"], records),
        }
    )


TABLES = (liver_patients, loans, court_records, killings_by_place)
