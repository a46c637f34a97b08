"""The names of this package; each is imported when it is first used."""

from ._signature import PASSPHRASE as PASSPHRASE
from ._signature import new_key as new_key
from ._signature import read_key as read_key
from ._signature import write_signature as write_signature
from ._verify import sign as sign
from ._verify import verify as verify
