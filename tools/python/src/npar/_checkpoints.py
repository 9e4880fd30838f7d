"""Folders of checkpoints: what they hold, and whether one more can be written there."""

import os
import pathlib
from typing import List, Optional, Tuple

from ._arguments import path_of
from ._errors import InputError

STATE_FILE = "loader.json"  # of the loader, in each checkpoint


def identity_of(folder) -> Tuple[int, int]:
    """Device and number of a folder, whatever path leads to it."""
    found = os.stat(folder)
    return found.st_dev, found.st_ino


def checkpoints_in(folder) -> List[pathlib.Path]:
    found = [path for path in pathlib.Path(folder).glob("step-*") if path.name[5:].isdigit()]
    return sorted(found, key=lambda path: int(path.name[5:]))


def check_folder(folder, resume: bool, own: Optional[Tuple[int, int]]) -> None:
    """Refuses, before any work, a folder in which no checkpoint can be written. `own`: the identity of the trainer's last folder."""
    path = pathlib.Path(path_of(folder))
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"run: checkpoints cannot be written to '{folder}': {error.strerror}") from None
    if not os.access(path, os.W_OK):
        raise InputError(f"run: checkpoints cannot be written to '{folder}': it is not writable")
    found = checkpoints_in(path)
    if found and not resume and identity_of(path) != own:
        raise InputError(f"run: '{folder}' has checkpoints of a training, the newest {found[-1].name}: pass resume=True to continue it, or name another folder")
