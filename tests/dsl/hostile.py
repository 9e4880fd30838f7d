"""Writes the texts of hostile.test into the current folder: each is made to be too large, too deep, or no text."""

import pathlib

TRAIN = "train b for M { batch 1 optimizer Sgd(lr = 1) }\n"


def model(body):
    return "model M {\naxis batch, seq = 4\ninput t: f32[batch, seq]\n" + body + "\n}\n" + TRAIN


def chain(count, body):
    """Layers L0 to Lcount, each made of the next one, which `body` names NEXT."""
    layers = "".join(f"layer L{i}() {{ {body.replace('NEXT', f'L{i + 1}')} }}\n" for i in range(count))
    return layers + f"layer L{count}() {{ forward(x) = x + x }}\n" + model("l = L0()\nloss l(t)")


texts = {
    "large": " " * ((1 << 20) + 1),
    "empty": "",
    "binary": "model M\0 {}",
    "arguments": model("y = gelu(" + "t, " * 256 + "t)\nloss t"),
    "deep_layers": chain(70, "a = NEXT() forward(x) = a(x)"),
    "many_layers": chain(40, "a = NEXT() b = NEXT() forward(x) = a(b(x))"),
    "many_operations": chain(40, "a = NEXT() forward(x) = a(a(x))"),
    "many_steps": model("repeat r[10000] {\na = 1" + " + 1" * 3000 + "\n}\nloss t"),
    "many_rules": model("loss t") + "plan p for M { mesh m = 1 micro 1 split {\n" + "seq -> m\n" * 1001 + "} }",
    "import_large": 'import "large"\n',
    "import_folder": 'import "folder"\n',
}
for i in range(70):
    texts[f"import_{i}"] = f'import "import_{i + 1}"\n'
for name, text in texts.items():
    pathlib.Path(f"{name}.npar").write_text(text)
pathlib.Path("folder.npar").mkdir()
