"""The room that a run may take while it is worked on."""

from transformer_viz.runs.listing import run_sizes
from transformer_viz.runs.quota import DiskUse, bytes_in, check_quota


class DiskQuota:
    """How much of the disk is left to a run.

    What other runs take is counted once: none of them is worked on meanwhile.

    Args:
        run: `TrainingRun`.
        quota: `Quota`; None: as much as there is.
    """

    def __init__(self, run, quota):
        self._run, self._quota = run, quota
        self._others = [kept for kept in run_sizes(run.path.parent) if kept.name != run.id] if quota else []

    def check(self, more=0) -> None:
        """See whether the run may grow by so many bytes.

        Raises:
            QuotaError: If it may not, or has grown too much already.
        """
        if self._quota:
            own = DiskUse(self._run.id, self._run.owner, bytes_in(self._run.path))
            check_quota(self._quota, [*self._others, own], own.owner, what="trainings", more=more)
