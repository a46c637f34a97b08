"""Make invented baskets of a shop: a customer per row, whose products are a list in a cell.

python generate.py                       # baskets.csv
"""

from __future__ import annotations

import argparse
import csv
import random
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: departments with their products, those that are bought most first
SHOP = {
    "bakery": ("bread", "rolls", "cake", "pretzels", "rye bread"),
    "dairy": ("milk", "butter", "cheese", "yoghurt", "cream", "goat cheese"),
    "fruit": ("apples", "bananas", "grapes", "figs", "quinces"),
    "drinks": ("water", "juice", "beer", "wine", "kombucha", "mead"),
    "baby": ("nappies", "baby food", "bottles"),
    "chemist": ("soap", "toothpaste", "pregnancy test", "plasters", "nicotine gum"),
}
CITIES = ("Aulen", "Berga", "Colmen")


def baskets(number: int, seed: int) -> list[dict[str, str]]:
    """Return customers with their city and products."""
    draw = random.Random(seed)  # noqa: S311 - invented people
    products = [(product, 1 / (place + 1) ** 1.5) for kinds in SHOP.values() for place, product in enumerate(kinds)]
    names, weights = zip(*products, strict=True)
    rows = []
    for customer in range(1, number + 1):
        bought = dict.fromkeys(draw.choices(names, weights, k=min(12, 1 + int(draw.expovariate(0.35)))))
        rows.append({"customer": f"C{customer:05}", "city": draw.choice(CITIES), "products": "|".join(bought)})
    return rows


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--customers", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=2025)
    parser.add_argument("--output", type=Path, default=HERE)
    given = parser.parse_args()
    rows = baskets(given.customers, given.seed)
    with (given.output / "baskets.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    with (given.output / "products.csv").open("w", newline="", encoding="utf-8") as file:
        for department, kinds in SHOP.items():
            file.writelines(f"{product};{department};*\n" for product in kinds)


if __name__ == "__main__":
    main()
