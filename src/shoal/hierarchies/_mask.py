"""Codes with characters hidden from one end: ``12345``, ``1234*``, ``123**``."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.hierarchies._column import Column, ranks
from shoal.hierarchies._tree import Level, Tree
from shoal.schema import Mask

__all__ = ["mask"]


def mask(column: Column, rule: Mask) -> Tree:
    """Return the codes with ever more characters hidden.

    Codes longer than ``length`` are left out. Shorter ones are filled up with blanks on the masked side; whole
    numbers are filled up with the zeros that they lost when they were read as numbers.
    """
    fits = pc.less_equal(pc.utf8_length(column.leaves), rule.length)
    leaves = column.leaves.filter(fits)
    filled = _fill(leaves, rule, zeros=pa.types.is_integer(column.source))
    levels = []
    for hidden in rule.masked:
        shown = rule.length - hidden
        if rule.side == "right":
            texts = pc.binary_join_element_wise(pc.utf8_slice_codeunits(filled, 0, shown), rule.symbol * hidden, "")
        else:
            texts = pc.binary_join_element_wise(rule.symbol * hidden, pc.utf8_slice_codeunits(filled, hidden), "")
        encoded = texts.dictionary_encode()
        groups = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        levels.append(Level(groups=groups, labels=encoded.dictionary))
    return Tree(leaves=leaves, levels=levels, ranks=ranks(leaves, column.attribute))


def _fill(leaves: pa.StringArray, rule: Mask, *, zeros: bool) -> pa.StringArray:
    if zeros:
        return pc.utf8_lpad(leaves, rule.length, "0")
    pad = pc.utf8_rpad if rule.side == "right" else pc.utf8_lpad
    return pad(leaves, rule.length, " ")
