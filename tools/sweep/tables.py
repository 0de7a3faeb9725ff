"""Tables on disk: appended row by row, resumed after an interruption. Pure Python."""

import csv
import os

import plan


class Table:
    """One CSV file. A row that a kill cut in two is dropped when the table is opened again."""

    def __init__(self, folder, name):
        self.name = name
        self.path = os.path.join(folder, name + ".csv")
        self.columns = plan.COLUMNS[name]
        self.done = set()
        os.makedirs(folder, exist_ok=True)
        if os.path.exists(self.path):
            self._read()
        else:
            with open(self.path, "w", newline="", encoding="utf-8") as f:
                csv.writer(f, lineterminator="\n").writerow(self.columns)

    def _read(self):
        with open(self.path, newline="", encoding="utf-8") as f:
            text = f.read()
        whole = text[: text.rfind("\n") + 1]
        rows = list(csv.DictReader(whole.splitlines()))
        if whole.splitlines()[:1] != [",".join(self.columns)]:
            raise SystemExit(f"{self.path}: has other columns than this version writes; move it away")
        if whole != text:
            with open(self.path, "w", newline="", encoding="utf-8") as f:
                f.write(whole)
        self.done = {plan.key(self.name, row) for row in rows}

    def todo(self, rows):
        return [row for row in rows if plan.key(self.name, row) not in self.done]

    def append(self, row):
        missing = [c for c in self.columns if c not in row]
        if missing:
            raise ValueError(f"{self.name}: row without {', '.join(missing)}")
        with open(self.path, "a", newline="", encoding="utf-8") as f:
            csv.writer(f, lineterminator="\n").writerow([row[c] for c in self.columns])
            f.flush()
            os.fsync(f.fileno())
        self.done.add(plan.key(self.name, row))
