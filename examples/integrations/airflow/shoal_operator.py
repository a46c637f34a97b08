"""An operator for Airflow that makes a release by a plan and verifies it; the task fails where a promise fails.

The program ``shoal`` runs as a process of its own, so that it may be installed in another environment than Airflow.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException


class ShoalReleaseOperator(BaseOperator):
    """Make the release ``folder`` of ``data`` by ``plan``, and verify it; its checks go to XCom.

    A promise that cannot be kept, a hollow release and a failed check fail the task without a retry: the same data
    would fail again.
    """

    template_fields: Sequence[str] = ("data", "plan", "folder")

    def __init__(self, *, data: str, plan: str, folder: str, program: str = "shoal", **others: Any) -> None:
        super().__init__(**others)
        self.data, self.plan, self.folder, self.program = data, plan, folder, program

    def execute(self, context: Any) -> Any:
        """Run both commands."""
        self._run("anonymize", self.data, "--plan", self.plan, "--output", self.folder)
        return self._run("verify", self.folder)["checks"]

    def _run(self, *command: str) -> Any:
        done = subprocess.run(  # noqa: S603 - a program of ours
            [self.program, *command, "--json"], capture_output=True, text=True, check=False
        )
        try:
            said = json.loads(done.stdout)
        except ValueError:
            raise RuntimeError(f"shoal {command[0]} ended with {done.returncode}: {done.stderr[-500:]}") from None
        # 4: verified, but a promise rests on the publisher's word; here we are the publisher
        if done.returncode not in (0, 4):
            failed = [each for each in said.get("checks", []) if not each["passed"]]
            problems = said["error"]["problems"] if "error" in said else failed
            raise AirflowFailException(f"shoal {command[0]}: {problems}")
        return said
