"""The shortest engine there is: whole matrices, all at once. It shows what an engine has to say."""

import numpy as np

from precall.engines.answers import NOBODY, Met, Nearest, Relation
from precall.engines.protocol import Session


class ToyEngine:
    name = "toy"

    def open(self, threads, advance):
        return ToySession(threads, advance)


class ToySession(Session):
    def place(self, *sets):
        pass

    def drop(self, *sets):
        pass

    def squared(self, queries, references):
        """Squared differences, added one by one in column order."""
        x, y = (rows.tile(0, len(rows)).astype(float) for rows in (queries, references))
        total = np.zeros((len(x), len(y)))
        for column in range(x.shape[1]):
            total += (x[:, column, None] - y[:, column]) ** 2
        self.advance(total.size)
        return total

    def nearest(self, questions):
        return [
            [
                Nearest.among(self.squared(question.queries, rows), max(question.ks))
                for rows in question.references
            ]
            for question in questions
        ]

    def count(self, questions):
        return [
            np.array([*own, *others]).reshape(-1, len(balls.queries)).T
            for balls in questions
            for own, others in [inside(balls, self.squared(balls.queries, balls.references), 2)]
        ]

    def relate(self, questions):
        return [self.related(meeting) for meeting in questions]

    def related(self, meeting):
        balls = meeting.balls
        squared = self.squared(balls.queries, balls.references)
        own = squared <= balls.around_queries[:, :, None]
        others = squared <= balls.around_references[:, None, :]
        weights = np.zeros((0, len(squared))) if meeting.weights is None else meeting.weights
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios = weights[:, :, None] / (squared + meeting.offset)
        ratios = np.where(np.isnan(ratios), 1.0, np.maximum(ratios, 0.0)).max(axis=1)
        turned = [flags.transpose(0, 2, 1) for flags in (others, own)]
        none = np.zeros((0, len(squared)))
        wanted = meeting.wants_best
        return Relation(
            met(own, others, squared, balls.references.stored, none, wanted),
            met(*turned, squared.T, balls.queries.stored, ratios, wanted),
        )

    def log_sums(self, questions, floor):
        found = []
        for question in questions:
            distances = np.sqrt(self.squared(question.queries, question.references))
            sums = [sum_of_logs(distances, limit) for limit in question.limits]
            found.append(np.array(sums))
        return found


def inside(balls, squared, axis):
    own = (squared <= balls.around_queries[:, :, None]).sum(axis=axis)
    return own, (squared <= balls.around_references[:, None, :]).sum(axis=axis)


def met(own, others, squared, stored, ratios, wanted):
    least = squared.min(axis=1) if wanted else np.full(len(squared), np.inf)
    is_nearest = squared == least[:, None]
    nearest = np.where(is_nearest, stored, NOBODY).min(axis=1)
    held = (others & is_nearest).any(axis=2).T
    return Met(own.sum(axis=2).T, others.sum(axis=2).T, nearest, least, held, ratios.T)


def sum_of_logs(distances, limit):
    with np.errstate(divide="ignore"):
        logs = np.log(np.where(distances < limit, distances / (limit or 1), distances > 0))
    return logs.sum(axis=1)
