"""Disk quota of one run while it is trained."""

from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.listing import run_sizes
from transformer_viz.training.runs.quota import DiskUse, Quota, bytes_in, check_quota


class DiskQuota:
    """Check that a run stays within the quota of its folder.

    The other runs are measured once: only one run of a folder is trained at a time.

    Args:
        run: `TrainingRun`.
        quota: `Quota`; None: unlimited.
    """

    def __init__(self, run: TrainingRun, quota: Quota | None):
        self._run, self._quota = run, quota
        self._others = [kept for kept in run_sizes(run.path.parent) if kept.name != run.id] if quota else []

    def check(self, more: int = 0) -> None:
        """Check that the run may grow by so many bytes.

        Raises:
            QuotaError: If it may not, or is too large already.
        """
        if self._quota:
            own = DiskUse(self._run.id, self._run.owner, bytes_in(self._run.path))
            check_quota(self._quota, [*self._others, own], own.owner, what="trainings", more=more)
