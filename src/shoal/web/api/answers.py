"""Types of the API's answers, from which the description at ``/api`` and clients are made."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Answer(BaseModel):
    """An answer; it may say more than is described here."""

    model_config = ConfigDict(extra="allow")


class RequestBody(BaseModel):
    """The body of a request, which may say nothing that is not described."""

    model_config = ConfigDict(extra="forbid")


class ProfileAnswer(_Answer):
    """What a column of a table looks like; why its role was proposed."""

    name: str
    type: str
    records: int
    missing: int
    distinct: int
    separation: float = Field(description="the share of pairs of records that the column distinguishes")
    minimum: str | None = None
    maximum: str | None = None
    reason: str = ""


class TableAnswer(_Answer):
    """An uploaded table."""

    id: str
    name: str
    file: str
    bytes: int
    created: str
    records: int
    columns: list[ProfileAnswer]
    read_as: dict[str, str] = Field(default={}, description="what was detected about how a CSV file is written")
    reading: dict[str, str] = Field(default={}, description="what a person said about that")
    notes: list[str] = Field(default=[], description="what else to know, such as columns that were given names")


class RecordsAnswer(_Answer):
    """Some records as text; None is a missing value."""

    columns: list[str]
    rows: list[list[str | None]]
    total: int = Field(description="the number of records that the filter lets through")


class _BinAnswer(_Answer):
    records: int


class _CommonAnswer(_Answer):
    value: str | None
    records: int


class ValuesAnswer(_Answer):
    """What a column holds: bins of numbers, or its commonest values."""

    distinct: int
    bins: list[_BinAnswer]
    top: list[_CommonAnswer]
    why: str


class SavedSchemaAnswer(_Answer):
    """The state of a schema after a change."""

    guessed: bool = Field(description="whether nobody has confirmed the roles yet")
    version: str = Field(description="distinguishes this state of the schema from others")


class SchemaAnswer(SavedSchemaAnswer):
    """What the columns mean, each as in a schema file, in the order of the table."""

    columns: list[dict[str, Any]]


class PlanAnswer(_Answer):
    """A plan as a file, as Python and as shell commands."""

    plan: str
    python: str
    shell: str


class EstimateAnswer(_Answer):
    """What a promise costs by a quick try, or why none was made."""

    words: str
    loss: float | None = Field(default=None, description="0 is unchanged, 1 is nothing left")
    left_out: int | None = Field(default=None, description="records that were left out")
    seconds: float | None = None
    average_risk: float | None = None
    highest_risk: float | None = None


class _StatusAnswer(_Answer):
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    done: int = 0
    total: int = 0
    message: str = ""


class RunAnswer(_Answer):
    """A run: what was asked for, and how far it is."""

    id: str
    kind: Literal["release", "comparison"]
    title: str
    name: str = Field(default="", description="what a person calls it")
    method: str
    table: str
    table_name: str
    created: str
    account: str | None = Field(default=None, description="the account that paid, or would have paid")
    cost: str | None = Field(default=None, description="what the account is asked for")
    status: _StatusAnswer


class FileAnswer(_Answer):
    """A file of a release."""

    name: str
    bytes: int


class _CheckAnswer(_Answer):
    subject: str
    passed: bool
    detail: str
    shown: bool = Field(description="whether the files of the release decide it")
    promise: bool = Field(description="whether a promise depends on it")


class VerificationAnswer(_Answer):
    """Every promise of a certificate, decided again."""

    passed: bool
    outcome: str = Field(description="verified; verified, but for what rests on the publisher's word; or failed")
    verdict: str = Field(description="the outcome in one sentence")
    checks: list[_CheckAnswer]


class _NodeFiguresAnswer(_Answer):
    levels: list[int]
    keeps: bool = Field(description="whether it keeps every promise within the share of records that may be left out")
    value: float | None = Field(description="the measure; lower is better, and None where nothing is left")
    suppressed: int
    allowed: int
    classes: int
    smallest: int
    average_risk: float
    highest_risk: float


class _LinkedRowAnswer(_Answer):
    record: int = Field(description="its number in the table")
    size: int = Field(description="records of its class; 0 where it was left out")
    before: list[str | None]
    after: list[str | None] | None = Field(description="None where it was left out")


class LinkedAnswer(_Answer):
    """Records before and after, with their classes."""

    columns: list[str]
    recoded: list[int] = Field(description="the columns of which others see released values")
    total: int
    rows: list[_LinkedRowAnswer]


class ClassAnswer(_Answer):
    """People who look alike."""

    size: int
    risk: float = Field(description="how likely one of them is found by who knows that they are in the table")
    released: dict[str, str | None]
    secrets: list[dict[str, Any]] = Field(description="how many different values each secret has, and the commonest")
    records: list[int]


class DatasetAnswer(_Answer):
    """A data set of several tables."""

    id: str
    name: str
    created: str
    files: list[str]
    guessed: bool = Field(description="whether nobody has confirmed keys and roles yet")
    tables: list[dict[str, Any]] = Field(description="each with its key, parent and columns, once they are proposed")
    release: dict[str, Any] | None = Field(description="what was promised, and what it cost")


class SizesAnswer(_Answer):
    """How many classes there are of each size."""

    sizes: list[list[int]] = Field(description="pairs of a size and the number of classes of it, in ascending order")


class PopulationAnswer(_Answer):
    """Estimates of how many people are unique in a population."""

    population: int
    chosen: str = Field(description="the model that Dankar's rule takes")
    share: float = Field(description="of all people who are unique, by that model")
    people: float
    pitman: float | None
    zayatz: float
    snb: float | None
    reidentifications: float


class FindingAnswer(_Answer):
    """What a released column holds of the 18 identifiers of HIPAA."""

    column: str
    letters: str
    verdict: str
    words: str


class NodeAnswer(_Answer):
    """A combination of levels and what its release would be like."""

    attributes: list[str]
    heights: list[int]
    examples: list[list[str | None]] = Field(description="a value of each level of each column")
    measure: str
    records: int
    node: _NodeFiguresAnswer
    around: list[_NodeFiguresAnswer] = Field(description="the combinations one level away")


class KeptAnswer(_NodeFiguresAnswer):
    """A solution that a person kept."""

    id: str
    name: str


class CoarserAnswer(EstimateAnswer):
    """A place on the way from fine to coarse."""

    step: int
    k: int


class KeyAnswer(_Answer):
    """A pair of keys that the app keeps."""

    name: str
    folder: str = Field(description="where its files are: NAME.pem, which is secret, and NAME.pub.pem")


class SignatureAnswer(_Answer):
    """Who signed a release."""

    fingerprint: str = Field(description="of the public key")


class _CrowdsAnswer(_Answer):
    unique: int = Field(description="records that agree with no other")
    smallest: int = Field(description="the fewest records that agree")
    average: float = Field(description="the share of records that someone who knows these columns for everybody finds")


class CombinationAnswer(_Answer):
    """The risk from some columns, before and after."""

    columns: list[str]
    original: _CrowdsAnswer
    released: _CrowdsAnswer


class _CountsAnswer(_Answer):
    queries: int
    median: float
    mean: float
    ninth: float = Field(description="nine of ten counts are less wrong than this")


class _LostAnswer(_Answer):
    column: str
    coverage: float | None = Field(description="0 where values are exact, 1 where nothing is left of them")
    total_variation: float
    moved: float | None = Field(description="how far values moved on average, as a share of their range")


class UsefulnessAnswer(_Answer):
    """What a release is still good for."""

    queries: _CountsAnswer
    columns: list[_LostAnswer]


class PredictionAnswer(_Answer):
    """How well a model predicts a column: guessing, learnt from the originals, learnt from the release."""

    model: str
    score: Literal["accuracy", "r2"]
    zero: float
    original: float
    released: float


class _StandingAnswer(_Answer):
    budget: str
    spent: str
    left: str


class _AnalystAnswer(_StandingAnswer):
    name: str
    able: bool = Field(description="whether the analyst has a token")


class VaultAnswer(_Answer):
    """A vault; lists of vaults leave out how its accounts stand."""

    id: str
    name: str
    created: str
    records: int
    account: str | None = Field(default=None, description="the account that pays, for releases as well")
    reason: str = Field(default="", description="why it does not pay from the account of the table")
    address: str | None = Field(default=None, description="where it answers, if it does")
    unit: str = Field(default="", description="whose loss budgets count")
    whole: _StandingAnswer | None = Field(default=None, description="all analysts together")
    analysts: list[_AnalystAnswer] = []
    head: str = Field(default="", description="identifies this state of the ledger; store it elsewhere")


class AccountAnswer(_StandingAnswer):
    """An account, from which the private releases of a table are paid."""

    id: str
    name: str
    created: str
    unit: str = Field(description="whose loss is counted")
    folder: str = Field(description="for `shoal anonymize --account`")


class TokenAnswer(_Answer):
    """A token, which is shown once and stored nowhere."""

    name: str
    token: str
