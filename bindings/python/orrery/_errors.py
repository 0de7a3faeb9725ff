"""The errors of orrery. Their messages are those of the command line."""


class Error(Exception):
    """An error of orrery. Its `code` is the exit code of the command line."""

    code = 1


class InputError(Error, ValueError):
    """The question is malformed: the message says where, and the nearest valid name."""

    code = 2


class Infeasible(Error):
    """The question is sound, but does not fit."""

    code = 3


class NoData(Error):
    """Nothing is known of this combination, such as fp8 on a GPU without it."""

    code = 4


class InternalError(Error, RuntimeError):
    """A fault of orrery itself."""

    code = 1
