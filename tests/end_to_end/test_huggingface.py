"""Hugging Face in and out: folders that transformers wrote (tests/reference/huggingface_reference.py), read, trained on and written again."""

import json
import shlex
import shutil
import struct
import unittest

from driver import LONG, REFERENCE, DriverTest, mesh, settings

FOLDERS = REFERENCE / "huggingface"
EXPECTED = {  # model, parameters, settings, types
    "gpt2": ("gpt2", 2152, {"vocab": 37, "context": 12, "width": 8, "heads": 2, "depth": 2, "inner": 32, "epsilon": 1e-5, "tied": True}, ["F32"]),
    "gpt2_old": ("gpt2", 2152, {"vocab": 37, "context": 12, "width": 8, "heads": 2, "depth": 2, "inner": 32, "epsilon": 1e-5, "tied": True}, ["F16"]),
    "llama": (
        "llama", 4720,
        {"vocab": 37, "context": 16, "width": 16, "mlp": 20, "heads": 4, "kv_heads": 2, "depth": 2, "head_dim": 4, "theta": 10000,
         "epsilon": 1e-6, "tied": False, "biased": False, "mlp_biased": False, "rope": "default"},
        ["BF16"],
    ),
    "llama_tied": (
        "llama", 4896,
        {"vocab": 37, "context": 16, "width": 16, "mlp": 20, "heads": 4, "kv_heads": 2, "depth": 2, "head_dim": 6, "theta": 500,
         "epsilon": 1e-6, "tied": True, "biased": False, "mlp_biased": False, "rope": "default"},
        ["F32"],
    ),
}  # fmt: skip
TYPES = {"F32": "f32", "F16": "f16", "BF16": "bf16"}
# A step that changes no bit: what is loaded is what is saved.
STILL = {
    "gpt2": 'import "gpt2"\ntrain still for Gpt2 { batch 8 optimizer Sgd(lr = 0) }\n',
    "llama": 'import "llama"\ntrain still for Llama { batch 8 optimizer Sgd(lr = 0) }\n',
}
PLANS = {
    "one rank": ["--plan", "none"],
    "dp pp tp": settings(mesh(dp=2, pp=2, tp=2), micro=2),
    "dp pp tp, all in shares": settings(mesh(dp=2, pp=2, tp=2), micro=2, zero=3),
    "tp 4 sequence bf16": settings(mesh(dp=1, pp=1, tp=4), micro=2, sequence="true", compute="bf16"),
}


def tensors_in(folder):
    """Name to (type, shape, bytes) of all safetensors files of a folder; none is in two of them."""
    found = {}
    for path in sorted(folder.glob("*.safetensors")):
        content = path.read_bytes()
        (size,) = struct.unpack("<Q", content[:8])
        for name, entry in json.loads(content[8 : 8 + size]).items():
            if name != "__metadata__":
                assert name not in found
                begin, end = entry["data_offsets"]
                found[name] = (entry["dtype"], entry["shape"], content[8 + size + begin : 8 + size + end])
    return found


def weights_in(folder):
    """As a model of transformers would save them: with the prefix, without masks and a head that is stored twice."""
    found = tensors_in(folder)
    if folder.name == "gpt2_old":
        found.pop("lm_head.weight")
        found = {"transformer." + name: tensor for name, tensor in found.items() if not name.endswith((".attn.bias", ".masked_bias"))}
    return found


class ImportTest(DriverTest):
    def test_folders(self):
        for name, (model, parameters, values, types) in EXPECTED.items():
            with self.subTest(folder=name):
                report = self.npar_json("import", FOLDERS / name)
                self.assertEqual((report["model"], report["parameters"]), (model, parameters))
                self.assertEqual(report["settings"], values)
                self.assertEqual(report["weights"]["types"], types)
                self.assertEqual(report["weights"]["tensors"] + report["weights"]["ignored"], len(tensors_in(FOLDERS / name)))
                self.assertEqual(report["weights"]["ignored"], 4 if name == "gpt2_old" else 0)

    def test_a_configuration_alone(self):
        shutil.copy(FOLDERS / "llama" / "config.json", self.folder / "config.json")
        report = self.npar_json("import", "config.json")
        self.assertEqual((report["model"], report["parameters"], report["weights"]), ("llama", 4720, None))
        self.assertIn("transformers_version", report["skipped"])

    def test_the_command_and_the_text_run(self):
        """Both calls that are printed compute the same."""
        printed = shlex.split(self.npar("import", FOLDERS / "llama", "-o", "call.npar").output)
        self.assertEqual(printed[:3], ["npar", "train", "llama"])
        common = ["--plan", "none", *settings(batch=4, length=8), "--random-data", "--steps", 2, "--seed", 3]
        one = self.npar_json("run", *printed[2:], *common)
        other = self.npar_json("run", "call.npar", "--config", "imported", "--weights", FOLDERS / "llama", *common)
        self.assertEqual(one["parameter_hash"], other["parameter_hash"])

    def refused(self, changes, *expected, remove=(), base="gpt2", code=1):
        config = json.loads((FOLDERS / base / "config.json").read_text())
        for key in remove:
            del config[key]
        config.update(changes)
        (self.folder / "config.json").write_text(json.dumps(config))
        error = self.npar("import", "config.json", code=code).error
        for text in expected:
            self.assertIn(text, error)

    def test_a_head_of_its_own(self):
        config = json.loads((REFERENCE / "huggingface" / "gpt2" / "config.json").read_text())
        (self.folder / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": False}))
        report = self.npar_json("import", "config.json")
        self.assertEqual((report["settings"]["tied"], report["parameters"]), (False, 2152 + 37 * 8))

    def test_what_npar_computes_differently_is_refused_by_name(self):
        cases = [
            ("gpt2", {"activation_function": "relu"}, "'activation_function' is \"relu\", npar's Gpt2 computes \"gelu_new\", \"gelu_pytorch_tanh\""),
            ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "'scale_attn_by_inverse_layer_idx' is true, npar's Gpt2 computes false only"),
            ("gpt2", {"scale_attn_weights": False}, "'scale_attn_weights' is false"),
            ("gpt2", {"n_ctx": 11}, "'n_ctx' is 11, npar's Gpt2 computes 12 only"),
            ("gpt2", {"add_cross_attention": True}, "'add_cross_attention' is true, which npar's Gpt2 is not"),
            ("gpt2", {"pruned_heads": {"0": [1]}}, "'pruned_heads.0' is [1], which npar's Gpt2 is not"),
            ("gpt2", {"architectures": ["GPT2ForSequenceClassification"]}, "'architectures' is \"GPT2ForSequenceClassification\""),
            ("gpt2", {"n_layer": 2.5}, "'n_layer' is 2.5, and the constant 'depth' of model 'Gpt2' is an integer"),
            ("gpt2", {"n_layer": [2]}, "'n_layer' is [2], and the constant 'depth' of model 'Gpt2' is an integer"),
            ("gpt2", {"n_layer": "2; rm"}, "'n_layer' is \"2; rm\", is no word"),
            ("gpt2", {"quantization_config": {"bits": 4}}, "says in 'quantization_config' that the weights are quantized"),
            ("gpt2", {"new_key": 0}, "'new_key' is 0, a key that family \"gpt2\" does not know"),
            ("gpt2", {"problem_type": "regression"}, "'problem_type' is \"regression\""),
            ("gpt2", {"model_type": "xlnet"}, 'has the model_type "xlnet", and npar knows "bert", "roberta", "xlm-roberta", "bloom", "deepseek_v3", "deepseek_v2", "distilbert", "gemma"'),
            ("llama", {"rope_scaling": {"type": "linear", "factor": 2.0}}, "'rope_scaling.type' is \"linear\" and 'rope_parameters.rope_type' is \"default\""),
            ("llama", {"rope_parameters": {"rope_type": "proportional", "rope_theta": 1e4}}, "a scaling of rotary positions is linear, dynamic"),
            ("llama", {"rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4}}, "scaled rotary positions need a factor (rope_factor)"),
            ("llama", {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}}, "'rope_parameters.partial_rotary_factor' is 0.5"),
            ("llama", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "truncate": None}}, "'rope_parameters.truncate' is null, npar's Llama computes true or false"),
            ("llama", {"rope_parameters": {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1, 2, 3]}}, "(short_factor, long_factor): 3 == 2"),
            ("llama", {"rope_parameters.factor": 2.0}, "'rope_parameters\\.factor' is 2.0, a key that family"),
            ("llama", {"rope_theta": 5e5}, "'rope_theta' is 500000.0 and 'rope_parameters.rope_theta' is 10000.0, which must be the same"),
            ("llama", {"attention_bias": "yes"}, "'attention_bias' is \"yes\", and the constant 'biased' of model 'Llama' is a truth value"),
            ("llama", {"rope_parameters": {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1, "a"]}}, "'rope_parameters.short_factor' is [1,\"a\"], is no plain value"),
            ("llama", {"hidden_act": "gelu"}, "'hidden_act' is \"gelu\", npar's Llama computes \"silu\" or \"swish\" only"),
            ("llama", {"sliding_window": 8}, "'sliding_window' is 8"),
        ]
        for base, changes, *expected in cases:
            with self.subTest(changes=changes):
                self.refused(changes, *expected, base=base)
        self.refused({}, "'n_embd' is missing", remove=["n_embd"])
        # Several at once, each on its line.
        self.refused({"activation_function": "relu", "scale_attn_weights": False}, "\n  'activation_function' is", "\n  'scale_attn_weights' is")

    def test_sizes_that_no_model_has(self):
        for changes, expected in [({"n_head": 3}, "3"), ({"vocab_size": 0}, "vocab"), ({"n_embd": -8}, "-8"), ({"n_layer": 10**19}, "n_layer")]:
            with self.subTest(changes=changes):
                self.refused(changes, expected)

    def test_keys_that_older_files_lack(self):
        """What a key's absence means is transformers' default, not npar's."""
        config = json.loads((FOLDERS / "llama" / "config.json").read_text())
        for key in ("num_key_value_heads", "head_dim", "rope_parameters", "rms_norm_eps", "attention_bias", "mlp_bias", "hidden_act"):
            del config[key]
        (self.folder / "config.json").write_text(json.dumps(config))
        values = self.npar_json("import", "config.json")["settings"]
        self.assertEqual((values["kv_heads"], values["head_dim"], values["theta"], values["epsilon"]), (4, 4, 10000, 1e-6))

    def test_names_that_all_models_have(self):
        """transformers reads a family's key under its general name, too."""
        text = (FOLDERS / "gpt2" / "config.json").read_text().replace('"n_embd"', '"hidden_size"').replace('"n_layer"', '"num_hidden_layers"')
        (self.folder / "config.json").write_text(text)
        self.assertEqual(self.npar_json("import", "config.json")["settings"], EXPECTED["gpt2"][2])

    def test_files_that_are_none(self):
        cases = [
            ("", "no valid JSON"), ("[]", "it has no 'model_type'"), ("{}", "it has no 'model_type'"), ('{"model_type": 3}', "it has no 'model_type'"),
            ('{"model_type": "gpt2", "model_type": "llama"}', "the name 'model_type' occurs twice"),
            ("[" * 2000, "nests deeper"), ('{"model_type": "gpt2", "architectures": "x"}', "'architectures' is \"x\", not a list"),
            ('{"a": "\\ud800"', "no valid JSON"),
        ]  # fmt: skip
        for text, expected in cases:
            with self.subTest(text=text[:40]):
                (self.folder / "config.json").write_text(text)
                self.assertIn(expected, self.npar("import", "config.json", code=1).error)
        self.assertIn("No such file", self.npar("import", "none.json", code=1).error)
        self.assertIn("config.json", self.npar("import", ".", code=1).error + "config.json")

    def test_weights_that_do_not_fit(self):
        folder = self.folder / "model"
        shutil.copytree(FOLDERS / "gpt2", folder)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "n_positions": 13}))
        error = self.npar("import", "model", code=1).error
        self.assertIn("tensor 'transformer.wpe.weight' has shape [12, 8], the model's is [13, 8]", error)
        (folder / "config.json").write_text(json.dumps({**config, "n_layer": 3}))
        self.assertIn("missing in the file: 'h.2.ln_1.weight'", self.npar("import", "model", code=1).error)

    def test_names_without_prefix(self):
        """As a bare model saves itself: Llama's without `model.`, next to a table that older files held."""
        folder = self.folder / "bare"
        shutil.copytree(FOLDERS / "llama_tied", folder)
        content = (folder / "model.safetensors").read_bytes()
        (size,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + size])
        bare = {name.removeprefix("model."): entry for name, entry in header.items()}
        bare["layers.0.self_attn.rotary_emb.inv_freq"] = {"dtype": "F32", "shape": [3], "data_offsets": [len(content) - 8 - size + at for at in (0, 12)]}
        text = json.dumps(bare).encode()
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :] + bytes(12))
        self.assertEqual(self.npar_json("import", "bare")["weights"]["ignored"], 1)
        self.npar("export", "bare", "--output", "full/")
        self.assertEqual(tensors_in(self.folder / "full"), weights_in(FOLDERS / "llama_tied"))

    def test_scaled_positions_in_both_forms(self):
        """transformers 4 wrote rope_scaling and rope_theta, transformers 5 writes rope_parameters. npar writes the form that it read."""
        numbers = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8}
        config = json.loads((FOLDERS / "llama" / "config.json").read_text())
        config["rope_parameters"] = {"rope_type": "llama3", "rope_theta": 5e5, **numbers}
        older = {key: value for key, value in config.items() if key != "rope_parameters"} | {"rope_theta": 5e5, "rope_scaling": {"rope_type": "llama3", **numbers}}
        found = []
        for name, text in {"new": config, "old": older}.items():
            shutil.copytree(FOLDERS / "llama", self.folder / name)
            (self.folder / name / "config.json").write_text(json.dumps(text))
            found.append(self.npar_json("import", name)["settings"])
            self.npar("export", name, "--output", f"{name}-out")
            written = json.loads((self.folder / f"{name}-out" / "config.json").read_text())
            for key in ("rope_parameters", "rope_scaling", "rope_theta"):
                self.assertEqual(json.dumps(written.get(key), sort_keys=True), json.dumps(text.get(key), sort_keys=True))
        self.assertEqual(*found)
        self.assertEqual({key: value for key, value in found[0].items() if "rope" in key},
                         {"rope": "llama3", "rope_factor": 8, "rope_low": 1, "rope_high": 4, "rope_original": 8})  # fmt: skip

    def test_what_says_nothing_is_skipped(self):
        """Null, false, nothing, and keys that files of all models have."""
        config = json.loads((FOLDERS / "gpt2" / "config.json").read_text())
        more = {"a": None, "b": False, "c": {}, "d": [], "auto_map": {"AutoConfig": "configuration_gpt2.Gpt2Config"}, "use_mrope": False}
        (self.folder / "config.json").write_text(json.dumps({**config, **more}))
        skipped = self.npar_json("import", "config.json")["skipped"]
        self.assertTrue({"a", "b", "c", "d", "auto_map.AutoConfig", "use_mrope"} <= set(skipped), skipped)

    def test_ignored_keys(self):
        config = json.loads((FOLDERS / "gpt2" / "config.json").read_text())
        (self.folder / "config.json").write_text(json.dumps({**config, "quantization_config": {"bits": 4, "group": {"size": 8}}, "speed": 3}))
        self.npar("import", "config.json", "--ignore-key", "speed", code=1)
        (self.folder / "config.json").write_text(json.dumps({**config, "quantization_config": {"bits": 4, "group": {"size": 8}}, "speed": 3, "a.b": {"c": 1}}))
        report = self.npar_json("import", "config.json", "--ignore-key", "speed", "--ignore-key", "quantization_config", "--ignore-key", "a.b")
        self.assertEqual(report["parameters"], 2152)
        error = self.npar("import", "config.json", "--ignore-key", "speeds", code=1).error
        self.assertIn("has no key 'speeds' to ignore", error)

    def test_lists(self):
        """Kinds of layers choose the windows of each block; a list of kinds that a family does not have is refused."""
        families = json.loads((REFERENCE / "families_recorded.json").read_text())["families"]
        config = families["gemma2"]["config"]
        windows = []
        for kinds in (["sliding_attention", "full_attention"], ["full_attention", "full_attention"], ["sliding_attention", "sliding_attention"]):
            (self.folder / "config.json").write_text(json.dumps({**config, "layer_types": kinds}))
            self.assertEqual(self.npar_json("import", "config.json")["settings"]["kinds"], kinds)
            self.npar("import", "config.json", "-o", "call.npar")
            nodes = self.npar("compile", "call.npar", "--config", "imported", "--plan", "none", *settings(batch=1, length=8), "--emit=nn").output
            windows.append('nn.compare "less"' in nodes)
        self.assertEqual(windows, [True, False, True])
        for kinds, expected in (
            (["sliding_attention", "attention"], None),  # an earlier name
            (["sliding_attention", "full"], "'layer_types' is [\"sliding_attention\",\"full\"], npar's Gemma2 computes null, \"full_attention\""),
            (["full_attention"], "one for each block (kinds; layer_types of a config.json): 1 == 2"),
            (["full_attention"] * 3, "one for each block (kinds; layer_types of a config.json): 3 == 2"),
        ):
            (self.folder / "config.json").write_text(json.dumps({**config, "layer_types": kinds}))
            self.assertIn(expected or "", self.npar("import", "config.json", code=1 if expected else 0).error)
        (self.folder / "config.json").write_text(json.dumps({**families["qwen2"]["config"], "layer_types": ["full_attention", "sliding_attention"]}))
        self.assertIn("'layer_types' is [\"full_attention\",\"sliding_attention\"], npar's Qwen2 computes null or \"full_attention\" only",
                      self.npar("import", "config.json", code=1).error)

    def test_a_family_of_ones_own(self):
        """A text of the user's that defines the names of another family."""
        (self.folder / "mine.npar").write_text(
            'import "gpt2"\nfamily "mine" for Gpt2 { take "size" = width take "words" = vocab take "heads" = heads else 2\n'
            'must "tanh" = [true, none] must "heads" = [2, 4] skip "note*" }\n'
        )
        (self.folder / "config.json").write_text(json.dumps({"model_type": "mine", "size": 8, "words": 37, "tanh": None, "notes": {"a": [1]}}))
        self.refusal = self.npar("import", "config.json", code=1).error
        self.assertIn("and npar knows", self.refusal)
        report = self.npar_json("import", "config.json", "--model", "mine.npar")
        self.assertEqual(report["settings"], {"width": 8, "vocab": 37, "heads": 2})
        self.assertEqual(report["skipped"], ["notes.a"])
        (self.folder / "config.json").write_text(json.dumps({"model_type": "mine", "size": 8, "words": 37, "heads": 8}))
        self.assertIn("'heads' is 8, npar's Gpt2 computes 2 or 4 only", self.npar("import", "config.json", "--model", "mine.npar", code=1).error)


class ExportTest(DriverTest):
    def export(self, source, to, *flags, **options):
        return self.npar_json("export", source, "--output", to, *flags, **options)

    def assert_same_configuration(self, folder, source):
        """No key of the source is lost, and none is new but what transformers would take for it anyway."""
        of_weights = ("torch_dtype", "dtype", "transformers_version", "architectures")
        written, expected = ({key: value for key, value in json.loads((each / "config.json").read_text()).items() if key not in of_weights} for each in (folder, source))
        self.assertEqual({key: json.dumps(written.get(key)) for key in expected}, {key: json.dumps(value) for key, value in expected.items()})
        self.assertFalse({"bos_token_id", "eos_token_id", "pad_token_id"} & (set(written) - set(expected)))

    def assert_same(self, folder, expected, types=None):
        found = tensors_in(folder)
        self.assertEqual(set(found), set(expected))
        for name, tensor in expected.items():
            self.assertEqual(found[name], tensor, f"tensor '{name}'")

    def test_a_folder_comes_back_bit_for_bit(self):
        for name, (model, _, values, _) in EXPECTED.items():
            with self.subTest(folder=name):
                report = self.export(FOLDERS / name, name)
                self.assertEqual(report["files"], 1)
                self.assert_same(self.folder / name, weights_in(FOLDERS / name))
                self.assert_same_configuration(self.folder / name, FOLDERS / name)
                self.assertEqual(self.npar_json("import", name)["settings"], values)

    def test_through_a_run_bit_for_bit(self):
        """Hugging Face, npar's ranks, Hugging Face: loaded by ranges, kept in pieces and masters, saved, exported in the first type."""
        plans = PLANS if LONG else {name: PLANS[name] for name in ("one rank", "dp pp tp, all in shares", "tp 4 sequence bf16")}
        for name, (model, _, values, types) in EXPECTED.items():
            (self.folder / "still.npar").write_text(STILL[model])
            flags = settings({key: str(value).lower() for key, value in values.items()})
            for plan, more in plans.items():
                if plan.startswith("tp 4") and name != "llama":
                    continue
                with self.subTest(folder=name, plan=plan):
                    self.npar(
                        "run", "still.npar", *flags, *more, *settings(length=8), "--weights", FOLDERS / name, "--random-data",
                        "--steps", 1, "--output", "w.safetensors", "--quiet",
                    )  # fmt: skip
                    shutil.rmtree(self.folder / "out", ignore_errors=True)
                    self.export("w.safetensors", "out", "--model", model, *flags, "--type", TYPES[types[0]])
                    self.assert_same(self.folder / "out", weights_in(FOLDERS / name))

    def test_from_a_checkpoint(self):
        """A checkpoint says itself what it is of, with what else the config.json of its first weights said, also after it has been resumed; weights come
        from it as from a folder of Hugging Face's, under another plan."""
        for name, plan in (("gpt2", "dp pp tp, all in shares"), ("llama", "tp 4 sequence bf16")):
            model, _, values, types = EXPECTED[name]
            with self.subTest(folder=name):
                (self.folder / "still.npar").write_text(STILL[model])
                flags = settings({key: str(value).lower() for key, value in values.items()}, length=8)
                common = ["--random-data", "--steps", 1]
                checkpoints = self.folder / f"checkpoints-{name}"
                self.npar("run", "still.npar", *flags, *PLANS[plan], *common, "--weights", FOLDERS / name, "--checkpoint", checkpoints)
                self.export(checkpoints, f"out-{name}", "--type", TYPES[types[0]])
                self.assert_same(self.folder / f"out-{name}", weights_in(FOLDERS / name))
                self.assert_same_configuration(self.folder / f"out-{name}", FOLDERS / name)
                self.assertEqual(self.npar_json("import", f"out-{name}")["settings"], values)
                hashes = [
                    self.npar_json("run", "still.npar", *flags, "--plan", "none", *common, "--weights", weights)["parameter_hash"]
                    for weights in (FOLDERS / name, checkpoints)
                ]
                self.assertEqual(*hashes)

    def test_tokenizers_go_along(self):
        """From the folder of the weights through a checkpoint, a resumed run and a resharded one to the exported folder, byte for byte; what is not a
        tokenizer's stays. `npar generate` finds the tokenizer of a checkpoint."""
        shutil.copytree(FOLDERS / "gpt2", self.folder / "first")
        written = {
            "vocab.json": json.dumps({chr(97 + i): i for i in range(26)} | {f"t{i}": i for i in range(26, 37)}).encode(), "merges.txt": b"#version: 0.2\n",
            "tokenizer_config.json": b'{"tokenizer_class": "GPT2Tokenizer"}', "special_tokens_map.json": b"{}", "chat_template.jinja": b"{{ x }}",
            "spiece.model": bytes(range(256)),
        }  # fmt: skip
        for name, content in written.items():
            (self.folder / "first" / name).write_bytes(content)
        (self.folder / "first" / "README.md").write_text("mine")
        (self.folder / "still.npar").write_text(STILL["gpt2"])
        flags = ["run", "still.npar", *settings({key: str(value).lower() for key, value in EXPECTED["gpt2"][2].items()}, length=8), "--random-data"]
        self.npar(*flags, *PLANS["dp pp tp"], "--weights", "first", "--steps", 1, "--checkpoint", "run")
        self.npar(*flags, "--plan", "none", "--steps", 2, "--checkpoint", "run", "--resume")
        self.npar("checkpoint", "reshard", "run", "--shards", 2, "-o", "other")
        self.npar("checkpoint", "verify", "other")
        for source in ("first", "run", "other"):
            report = self.export(source, f"{source}-out")
            self.assertEqual(sorted(report["other_files"]), sorted(["config.json", *written]))
            for name, content in written.items():
                self.assertEqual((self.folder / f"{source}-out" / name).read_bytes(), content)
            self.assertFalse((self.folder / f"{source}-out" / "README.md").exists())
        self.assertIn('"weights":"first"', (self.folder / "other" / "step-2" / "manifest.json").read_text())
        generated = [self.npar_json("generate", source, "--prompt", "abc", "--count", 2, "--quiet") for source in ("first", "run")]
        self.assertEqual(*generated)
        self.assertEqual(generated[0]["prompt_tokens"], [0, 1, 2])

    def test_a_part_of_the_weights(self):
        """Layers trained on a frozen base are exported alone and put back: every later result is that of the trained model, bit for bit."""
        text = STILL["gpt2"] + 'train tuned for Gpt2 {\n batch 8\n optimizer AdamW(lr = 0.1)\n freeze "*" except "h.1.mlp.*"\n}\n'
        (self.folder / "still.npar").write_text(text)
        sizes = settings({key: str(value).lower() for key, value in EXPECTED["gpt2"][2].items()}, length=8)
        train = ["run", "still.npar", *sizes, "--random-data", "--train"]
        base = FOLDERS / "gpt2"
        self.npar(*train, "tuned", *PLANS["dp pp tp"], "--weights", base, "--steps", 3, "--checkpoint", "run")
        part = self.export("run", "part", "--only", "h.1.mlp.*")
        self.assertEqual((part["tensors"], part["other_files"]), (4, ["part.json"]))
        note = json.loads((self.folder / "part" / "part.json").read_text())
        self.assertEqual({**note, "use": ""}, {"model": "Gpt2", "family": "gpt2", "base": str(base), "only": ["h.1.mlp.*"], "tensors": 4, "tensors_of_the_model": 28, "use": ""})
        whole = [*PLANS["dp pp tp, all in shares"], "--steps", 1]
        hashes = {name: self.npar_json(*train, "still", *whole, "--weights", *weights)["parameter_hash"]
                  for name, weights in {"run": ["run"], "base": [base], "part": [base, "--weights-part", "part"], "file": [base, "--weights-part", "part/model.safetensors"]}.items()}  # fmt: skip
        self.assertEqual(len({hashes["run"], hashes["part"], hashes["file"]}), 1)
        self.assertNotEqual(hashes["run"], hashes["base"])
        self.export(base, "merged", "--weights-part", "part")
        self.export("run", "exported")
        self.assert_same(self.folder / "merged", tensors_in(self.folder / "exported"))
        generated = [self.npar_json("generate", *model, "--prompt-tokens", "1,2,3", "--count", 5, "--quiet")["tokens"] for model in (["run"], [base, "--weights-part", "part"], ["merged"])]
        self.assertEqual(generated[1:], generated[:1] * 2)
        # A part on top of a part names both.
        more = [base, "--weights-part", "part"]
        self.npar(*train, "tuned", *PLANS["dp pp tp"], "--weights", *more, "--steps", 1, "--checkpoint", "second")
        for source, output in ((more, "again"), (["second"], "top")):
            self.export(source[0], output, *source[1:], "--only", "h.1.mlp.*")
            note = json.loads((self.folder / output / "part.json").read_text())
            self.assertEqual((note["base"], note["base_parts"]), (str(base), ["part"]))
            self.assertIn("npar export BASE --weights-part part --weights-part FOLDER -o WHOLE", note["use"])
        error = self.npar("export", "run", "--only", "h.1.mlp.c_fc.*", "--output", "less").error
        self.assertIn("warning: 2 parameters were trained and not exported, such as 'h.1.mlp.c_proj.", error)
        whole = self.export("run", "all", "--only", "*")
        self.assertEqual((whole["tensors"], whole["other_files"]), (28, ["config.json"]))
        for command, code, said in (
            (["export", "run", "--only", "x.*", "--output", "no"], 1, "--only 'x.*' matches no parameter of the model, which has 28, the last '"),
            (["export", "run", "--base", "gpt2", "--output", "no"], 2, "--base needs --only PATTERN"),
            (["export", "part", "--output", "no"], 1, "'part' has a part of a model's weights (part.json): name the folder of the other weights, and give --weights-part part"),
            ([*train, "still", "--weights-part", "part"], 2, "--weights-part needs --weights PATH"),
            ([*train, "still", "--weights", base, "--weights-part", FOLDERS / "llama"], 1, "cannot be a part of the model, which has no parameter for its tensor 'model."),
        ):
            self.assertIn(said, self.npar(*command, code=code).error)

    def test_a_part_with_some_experts(self):
        """A part with some of the tensors that together are one parameter replaces only these."""
        sizes = settings({"vocab": 32, "context": 16, "width": 16, "mlp": 8, "heads": 2, "kv_heads": 1, "head_dim": 8, "depth": 1, "experts": 4, "chosen": 2}, length=8)
        self.npar("run", "mixtral", "--plan", "none", *sizes, *settings(batch=2), "--random-data", "--steps", 1, "--checkpoint", "run", "--quiet")
        self.export("run", "whole")
        name = "model.layers.0.block_sparse_moe.experts.2.w1.weight"
        expected = tensors_in(self.folder / "whole")
        kind, shape, data = expected[name]
        expected[name] = (kind, shape, bytes(reversed(data)))
        header = json.dumps({name: {"dtype": kind, "shape": shape, "data_offsets": [0, len(data)]}}).encode()
        (self.folder / "part.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + expected[name][2])
        self.export("whole", "merged", "--weights-part", "part.safetensors")
        self.assert_same(self.folder / "merged", expected)

    def test_list(self):
        """A line for each configuration, with the number of parameters; names select a model, a family or a configuration, and a file of one's own."""
        listed = self.npar_json("import", "--list", "gpt2")
        self.assertEqual([(each["configuration"], each["parameters"]) for each in listed["models"]],
                         [("gpt2", 124439808), ("gpt2-medium", 354823168), ("gpt2-large", 774030080), ("gpt2-xl", 1557611200)])  # fmt: skip
        self.assertEqual(listed["families"], [{"family": "gpt2", "model": "Gpt2", "classes": ["GPT2LMHeadModel", "GPT2Model"]}])
        text = self.npar("import", "--list", "mixtral").output
        self.assertRegex(text, r"(?m)^mixtral +Mixtral-8x7B +mixtral +46,702,792,704 +87.0 GiB +a position meets 12,879,925,248$")
        self.assertIn('classes of family "roberta": RobertaForMaskedLM RobertaForSequenceClassification RobertaModel', self.npar("import", "--list", "roberta").output)
        (one,) = self.npar_json("import", "--list", "rbt3")["models"]
        self.assertEqual((one["model"], one["class"], one["parameters"]), ("bert", "BertForMaskedLM", 38499464))
        self.npar("import", FOLDERS / "gpt2", "-o", "call.npar")
        self.assertIn("2,152", self.npar("import", "--list", "call.npar").output)
        self.assertIn("has the name 'rbt33': did you mean 'rbt3'?", self.npar("import", "--list", "rbt33", code=1).error)
        self.assertIn("SOURCE is required", self.npar("import", code=2).error)
        if LONG:
            everything = self.npar_json("import", "--list")["models"]
            self.assertGreater(len(everything), 90)

    def test_shards(self):
        report = self.export(FOLDERS / "llama", "out", "--shard-size", "3kB")
        self.assertGreater(report["files"], 2)
        self.assert_same(self.folder / "out", weights_in(FOLDERS / "llama"))
        index = json.loads((self.folder / "out" / "model.safetensors.index.json").read_text())
        self.assertEqual(index["metadata"]["total_size"], report["bytes"])
        for path in (self.folder / "out").glob("*.safetensors"):
            named = [name for name, file in index["weight_map"].items() if file == path.name]
            size = sum(len(weights_in(FOLDERS / "llama")[name][2]) for name in named)
            self.assertTrue(size <= 3000 or len(named) == 1, path.name)
        self.assertEqual(self.npar_json("import", "out")["weights"]["tensors"], 21)

    def test_types(self):
        self.export(FOLDERS / "gpt2", "narrow", "--type", "bf16")
        self.assertEqual({kind for kind, _, _ in tensors_in(self.folder / "narrow").values()}, {"BF16"})
        self.assertEqual(json.loads((self.folder / "narrow" / "config.json").read_text())["torch_dtype"], "bfloat16")
        self.export("narrow", "wide", "--type", "f32")
        self.export("wide", "again", "--type", "bf16")
        self.assert_same(self.folder / "again", tensors_in(self.folder / "narrow"))

    def test_what_is_refused(self):
        (self.folder / "full").mkdir()
        (self.folder / "full" / "note").write_text("mine")
        error = self.npar("export", FOLDERS / "gpt2", "--output", "full", code=1).error
        self.assertIn("folder 'full' is not empty: give another folder", error)
        self.npar("export", FOLDERS / "gpt2" / "model.safetensors", "--output", "out", code=2)
        values = {key: str(value).lower() for key, value in EXPECTED["gpt2"][2].items()}
        error = self.npar("export", FOLDERS / "gpt2", "--output", "out", "--model", "gpt2", *settings(values, depth=3), code=1).error
        self.assertIn("missing in the file: 'h.2.", error)
        self.npar("export", FOLDERS / "gpt2", "--output", "none/out", code=1)
        self.npar("run", "mlp", *settings(vocab=37, width=4, inner=4, length=4, batch=8), "--random-data", "--steps", 1, "--output", "m.safetensors")
        error = self.npar("export", "m.safetensors", "--output", "out", "--model", "mlp", *settings(vocab=37, width=4, inner=4, length=4), code=1).error
        self.assertIn("model 'Mlp' has no family", error)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["full", "m.safetensors"])

    def test_values_beyond_the_type(self):
        """The folder is not there then, nor a part of it."""
        folder = self.folder / "big"
        shutil.copytree(FOLDERS / "gpt2", folder)
        content = bytearray((folder / "model.safetensors").read_bytes())
        content[-4:] = struct.pack("<f", 1e6)
        (folder / "model.safetensors").write_bytes(content)
        error = self.npar("export", "big", "--output", "out", "--type", "f16", code=1).error
        self.assertIn("has values beyond F16", error)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["big"])
        self.export("big", "out", "--type", "bf16")


if __name__ == "__main__":
    unittest.main()
