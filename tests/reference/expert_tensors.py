"""The tensors of transformers' models with experts as files hold them: one for each expert, where a model has one for all, under the names of files."""

# A model and its files have different names for the matrices of experts: the first has two parts along the features in files.
NAMES = {"mixtral": ("w1", "w3", "w2"), "gpt_oss": None}
USUAL = ("gate_proj", "up_proj", "down_proj")


class Piece:
    """A part of a parameter or of a buffer."""

    def __init__(self, whole, place=...):
        self.whole, self.place = whole, place

    @property
    def shape(self):
        return self.whole[self.place].shape

    @property
    def grad(self):
        return None if self.whole.grad is None else self.whole.grad[self.place]

    def detach(self):
        return self.whole.detach()[self.place]

    def copy_(self, values):
        self.whole[self.place].copy_(values)


def parts(path, parameter, names):
    """(path, piece) of each expert."""
    before, _, last = path.rpartition(".")
    gate, up, down = names
    half = parameter.shape[1] // 2
    for expert in range(parameter.shape[0]):
        if last == "down_proj":
            yield f"{before}.{expert}.{down}.weight", Piece(parameter, expert)
        else:
            yield f"{before}.{expert}.{gate}.weight", Piece(parameter, (expert, slice(None, half)))
            yield f"{before}.{expert}.{up}.weight", Piece(parameter, (expert, slice(half, None)))


def stored(model, named):
    """The named parameters of a model, and its selection biases, as files hold them."""
    names = NAMES.get(model.config.model_type, USUAL)
    result = []
    for path, parameter in named:
        if model.config.model_type == "mixtral":
            path = path.replace(".mlp.", ".block_sparse_moe.")
        is_shared = names and path.endswith(("experts.gate_up_proj", "experts.down_proj"))
        result += parts(path, parameter, names) if is_shared else [(path, parameter)]
    return result + [(path, Piece(buffer)) for path, buffer in model.named_buffers() if path.endswith("e_score_correction_bias")]
