"""Messages of the C library in the words of this module: functions and arguments of Python in place of those of npar.h."""

import re

_FUNCTIONS = {"create": "Trainer", "run": "train", "set_length": "run", "evaluated": "evaluate", "to_dlpack": "view", "save_with": "save", "saved_file": "resume"}
_MEMBERS = {"data_order": "order", "evaluate_data": "evaluate", "without_kernels": "kernels", "timeout_seconds": "timeout"}
_STRUCTS = "trainer|run|evaluate|generate|save|verify|simulate|plan|explain|view"


def in_python_words(text: str) -> str:
    """The text without names of the C interface."""
    text = re.sub(rf"\bnpar_(?:(?:{_STRUCTS})_options|request)(?:: |\.| )(?=\w)", "", text)
    text = re.sub(r"\bnpar_(?:trainer|program)_([a-z_]+)\b", lambda found: _FUNCTIONS.get(found[1], found[1]), text)
    text = re.sub(r"\bnpar_(compile|verify|simulate|plan|explain|annotate|library)\b", r"\1", text)
    text = text.replace("NPAR_VIEW_PARAMETERS lists its parameters", "program.parameters lists its parameters").replace("'settings'", "'set'").replace("without 'job'", "with job='none'").replace("give 'resume' to continue from it", "resume from it")
    for member, word in _MEMBERS.items():
        text = re.sub(rf"\b{member}\b", word, text)
    return text
