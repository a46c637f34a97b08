"""A dbt model (dbt-duckdb) that holds the records of a release; ``dbt build`` fails where a promise cannot be kept.

Put the name of the model with the original records into ``dbt.ref``. The model's configuration names ``plan``, the file
of the plan, and ``folder``, where the release with its certificate goes; it must not exist.
"""


def model(dbt, session):
    import shoal

    dbt.config(materialized="table")
    plan = shoal.Plan.load(dbt.config.get("plan"))
    records = dbt.ref("people").arrow()
    records = records.read_all() if hasattr(records, "read_all") else records
    folder = plan.run(shoal.read(records)).write(dbt.config.get("folder"))
    found = shoal.verify(folder)
    if not found.passed:
        raise RuntimeError(f"the release does not verify: {found}")
    return shoal.released(folder).to_arrow()
