"""Every sample as CSV, one architecture of one process a row."""

import csv
import io
from collections.abc import Iterator

from tfbuild.report.value import Report, Source
from tfbuild.stats import mean

COLUMNS = {
    "file": "the file with the samples",
    "round": "from 1",
    "position": "place within the round, from 1",
    "started_at": "of the process, ISO 8601",
    "subject": "contender's number, from 1; 1 is the baseline",
    "spec": "as it was asked for",
    "distribution": "of the installed package",
    "version": "of the installed package",
    "control": "1 for the baseline's second run",
    "vcpus": "logical CPUs that the process was bound to",
    "intra_threads": "TensorFlow's threads within one op",
    "inter_threads": "ops that run at a time",
    "omp_threads": "OpenMP's threads",
    "onednn": "1, 0, or empty for the build's own choice",
    "batch": "samples in a batch",
    "xla": "1 where training steps were compiled",
    "allocator": "of memory",
    "seed": "of this process",
    "architecture": "name of the model, or of the script",
    "data": "real or generated",
    "parameters": "of the model",
    "study_epoch_seconds": "seconds for one epoch of the study: what ratios are made of",
    "epoch_seconds": "mean of the timed epochs",
    "epochs": "timed epochs",
    "prepare_seconds": "making data and model",
    "first_step_seconds": "of the first step",
    "warmup_seconds": "of all untimed steps",
    "startup_seconds": "until TensorFlow was imported",
    "process_seconds": "of the whole process",
    "cpu_seconds": "that the process used",
    "others_cpus": "CPUs that everything else used meanwhile",
    "peak_rss_bytes": "most memory",
    "first_loss": "of the first step",
    "last_loss": "mean of the last timed epoch",
}
"""Names of the columns, in order, and what they hold."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(report: Report) -> str:
    """Return CSV text (RFC 4180, but lines end in a newline alone)."""
    return written(COLUMNS, (row for source in report.sources for row in _rows(source)))


def written(columns: dict[str, str], rows: Iterator[dict[str, object]]) -> str:
    """Return rows as CSV text; what is None stays empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and value.startswith(_FORMULA):
        # A spreadsheet would run what a stranger's file calls itself.
        return f"'{value}"
    return "" if value is None else value


def _rows(source: Source) -> Iterator[dict[str, object]]:
    suite = source.suite
    for run in suite.runs:
        who = suite.subjects[run.subject]
        for sample in run.samples:
            yield {
                "file": source.name,
                "round": run.round + 1,
                "position": run.position + 1,
                "started_at": run.started_at.isoformat(),
                "subject": run.subject + 1,
                "spec": who.spec,
                "distribution": who.distribution,
                "version": who.version,
                "control": who.is_control,
                "vcpus": len(who.setting.cpus),
                "intra_threads": who.setting.intra_threads,
                "inter_threads": who.setting.inter_threads,
                "omp_threads": who.setting.omp_threads,
                "onednn": who.setting.onednn,
                "batch": sample.batch_size,
                "xla": who.setting.xla,
                "allocator": who.setting.allocator,
                "seed": run.seed,
                "architecture": sample.architecture,
                "data": sample.data,
                "parameters": sample.parameters,
                "study_epoch_seconds": sample.study_epoch_seconds,
                "epoch_seconds": mean(sample.epoch_seconds),
                "epochs": len(sample.epoch_seconds),
                "prepare_seconds": sample.prepare_seconds,
                "first_step_seconds": sample.first_step_seconds,
                "warmup_seconds": sample.warmup_seconds,
                "startup_seconds": run.startup_seconds,
                "process_seconds": run.seconds,
                "cpu_seconds": run.cpu_seconds,
                "others_cpus": run.others_cpus,
                "peak_rss_bytes": run.peak_rss_bytes,
                "first_loss": sample.first_loss,
                "last_loss": sample.losses[-1] if sample.losses else None,
            }
