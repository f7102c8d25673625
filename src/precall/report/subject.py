"""What a page is about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from precall.findings.diagnosis import corner
from precall.report.thumbnails import Thumbnails, as_thumbnails
from precall.results.comparison import Difference
from precall.results.evaluation import Evaluation
from precall.results.tables import percent


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """One model, and pictures of its samples."""

    number: int
    name: str
    result: Evaluation
    diagnosis: Sequence[str]
    pictures: Mapping[str, Thumbnails]  # of real, of generated; those that there are

    def picture(self, role: str, row: int) -> str | None:
        """Return a picture of a sample for the ``src`` of an image, if there is one."""
        return self.pictures[role].data_uri(row) if role in self.pictures else None

    def headline(self) -> list[tuple[str, str, str]]:
        """Return the two numbers to look at first, by name, each with half of its interval."""
        if self.result.best_curve is None:
            return []
        halves = [self.result.findings().half_width(key) for key in ("f_1_8", "f_8")]
        spreads = ["" if half is None else f"± {100 * half:.1f}" for half in halves]
        values = map(percent, corner(self.result.best_curve))
        return list(zip(("precision", "recall"), values, spreads, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """One model or several, how they differ, and where pictures of their samples are."""

    results: Mapping[str, Evaluation]  # by model
    differences: Sequence[Difference]
    models: Sequence[Model]

    @classmethod
    def of(
        cls,
        results: Mapping[str, Evaluation],
        differences: Sequence[Difference],
        images_real: object,
        images_generated: Mapping[str, object],
    ) -> Self:
        """Find the pictures of every model, and say what is wrong with it."""
        models = []
        for number, (name, result) in enumerate(results.items()):
            p, drawn = result.protocol, images_generated.get(name)
            found = {
                "real": as_thumbnails(images_real, p.n, "images_real"),
                "generated": as_thumbnails(drawn, p.m, "images_generated"),
            }
            pictures = {role: of_role for role, of_role in found.items() if of_role is not None}
            models.append(Model(number, name, result, result.diagnosis(), pictures))
        return cls(results, differences, models)

    @property
    def several(self) -> bool:
        """Whether there is more than one model."""
        return len(self.models) > 1
