"""The families of stdlib against Hugging Face's implementations (tests/reference/families_reference.py): every gradient, 30 training
steps."""

import datetime
import json
import math
import os
import shutil
import unittest

from driver import LONG, REFERENCE, DriverTest, mesh, safetensors_file, sample, settings

import families_data  # of tests/reference, as the driver has it on the path
import random_weights

RECORDED = json.loads((REFERENCE / "families_recorded.json").read_text())
FAMILIES = RECORDED["families"]
EMBEDDINGS = json.loads((REFERENCE / "embeddings_recorded.json").read_text())
EXPORTED = json.loads((REFERENCE / "exports_recorded.json").read_text())["configurations"]
RATE = 1024  # a power of two: what a step of plain descent subtracts is the gradient times this, to the last bit
ADAMW = RECORDED["adamw"]
TRAIN = f"""
train gradient for MODEL {{ batch {RECORDED["batch"]} optimizer Sgd(lr = {RATE}) }}
train steps for MODEL {{
    batch {RECORDED["batch"]}
    optimizer AdamW(lr = {ADAMW["lr"]}, betas = ({ADAMW["betas"][0]}, {ADAMW["betas"][1]}), epsilon = {ADAMW["eps"]}, decay = {ADAMW["weight_decay"]})
}}
"""
NAMES = {  # of models, where they are not the file's
    "gpt_neox": "GptNeoX", "gptj": "GptJ", "distilbert": "DistilBert", "qwen2_moe": "Qwen2Moe", "qwen3_moe": "Qwen3Moe", "gpt_oss": "GptOss",
}  # fmt: skip
GENERAL_PLANS = ["one rank", "dp pp tp", "dp pp tp, all in shares", "dp, recomputed"]
PLANS = {
    "one rank": ["--plan", "none"],
    "dp pp tp": settings(mesh(dp=2, pp=2, tp=2), micro=2),
    "dp pp tp, all in shares": settings(mesh(dp=2, pp=2, tp=2), micro=2, zero=3, schedule="zb_h1"),
    "tp beyond the key/value heads, sequence": settings(mesh(dp=1, pp=1, tp=4), micro=4, sequence="true"),
    "dp, recomputed": settings(mesh(dp=4, pp=1, tp=1), micro=1, recompute="block"),
}
PLANS["tp, stages of one block"] = settings(mesh(dp=1, pp=2, tp=2), micro=4, schedule="gpipe")
ROUTED_PLANS = {  # of models with experts
    "one rank": PLANS["one rank"],
    "pp ep tp": settings(mesh(dp=1, pp=2, ep=2, tp=2), micro=2),
    "dp ep tp, all in shares": settings(mesh(dp=2, ep=2, tp=2), micro=2, zero=3),
    "pp ep, recomputed": settings(mesh(dp=1, pp=2, ep=4), micro=1, schedule="zb_h1", recompute="block"),
    "ep tp, sequence": settings(mesh(dp=1, ep=2, tp=4), micro=4, sequence="true"),
}
BIAS = ".gate.e_score_correction_bias"  # of a choice of experts: a state
BOUNDS = {"f64": 1e-9, "f32": 1e-5}
# The short form has a quarter of the families, another one each day. To repeat a day's tests: NPAR_TURN=N, with the number in the message.
TURN = int(os.environ.get("NPAR_TURN") or datetime.date.today().toordinal())
VERIFIED = {  # with a combination of features that must be equal
    "mistral --set window=5": "dp,tp,1f1b", "qwen2": "zero3,tp,sequence", "qwen3": "dp,zb_h1,recompute_block",
    "olmoe": "dp,tp,1f1b", "gpt_oss": "ulysses,dp",
    "gemma2 --set window=5 --set cap=2.0 --set logit_cap=3.0": "ulysses,dp", "bert": "ring,tp,zero1", "t5": "pad,dp,gpipe",
    "vit": "sequence,tp,zero2",
}  # fmt: skip
VERIFIED_LONG = [
    *VERIFIED, "bert --set task=classify --set segments=true", "bert --set task=sentence", "bert --set names=roberta --set pad=1 --set context=20",
    't5 --set feed="gated-gelu" --set tied=false', "vit --set names=deit --set teacher=true",
]  # fmt: skip
PUBLISHED = {
    "llama": {"Llama-3.1-8B": 8030261248, "Llama-3.1-70B": 70553706496, "Llama-3.2-1B": 1235814400, "Llama-3.2-3B": 3212749824},
    "phi3": {"Phi-3-mini-4k": 3821079552, "Phi-3-medium-4k": 13960238080, "phi-4": 14659507200, "Phi-4-mini": 3836021760},
    "gpt_neox": {
        "pythia-70m": 70426624, "pythia-160m": 162322944, "pythia-410m": 405334016, "pythia-1.4b": 1414647808, "pythia-6.9b": 6857302016,
        "gpt-neox-20b": 20554567680,
    },
    "gptj": {"gpt-j-6b": 6050882784},
    "olmo2": {"OLMo-2-1B": 1484916736, "OLMo-2-7B": 7298617344, "OLMo-2-13B": 13716198400},
    "gemma": {"gemma-2b": 2506172416, "gemma-7b": 8537680896},
    "gemma3": {"gemma-3-270m": 268098176, "gemma-3-1b": 999885952},
    "starcoder2": {"starcoder2-3b": 3030371328, "starcoder2-7b": 7173923840, "starcoder2-15b": 15957889024},
    "bloom": {"bloom-560m": 559214592, "bloom-7b1": 7069016064, "bloom": 176247271424},
    "distilbert": {"distilbert-base-uncased": 66985530},
    "bert": {
        "bert-base-uncased": 109514298, "bert-large-uncased": 335174458, "roberta-base": 124697433, "roberta-large": 355412057, "all-MiniLM-L6-v2": 22713216,
        "xlm-roberta-base": 278295186, "xlm-roberta-large": 560142482, "bert-base-chinese": 102290312, "chinese-roberta-wwm-ext": 102290312, "rbt3": 38499464,
        "chinese-roberta-wwm-ext-large": 325545608, "bge-base-zh-v1.5": 102267648, "bge-large-zh-v1.5": 325522432,
    },
    "vit": {
        "vit-base-patch16-224": 86567656, "vit-base-patch32-224": 88224232, "vit-large-patch16-224": 304326632, "deit-tiny-patch16-224": 5717416,
        "deit-small-patch16-224": 22050664, "deit-base-distilled-patch16-224": 87338192,
    },
    "vision_transformer": {"vit_b_16": 86567656, "vit_b_32": 88224232, "vit_l_16": 304326632, "vit_l_32": 306535400, "vit_h_14": 632045800},
    "t5": {
        "t5-small": 60506624, "t5-base": 222903552, "t5-large": 737668096, "t5-3b": 2851598336, "t5-11b": 11307321344,
        "flan-t5-small": 76961152, "flan-t5-base": 247577856, "flan-t5-large": 783150080, "flan-t5-xl": 2849757184, "flan-t5-xxl": 11135332352,
    },
    "gemma2": {"gemma-2-2b": 2614341888, "gemma-2-9b": 9241705984, "gemma-2-27b": 27227128320},
    "mistral": {"Mistral-7B-v0.1": 7241732096, "Mistral-7B-v0.3": 7248023552},
    "qwen2": {"Qwen2-0.5B": 494032768, "Qwen2-1.5B": 1543714304, "Qwen2-7B": 7615616512},
    "qwen3": {"Qwen3-0.6B": 596049920, "Qwen3-4B": 4022468096, "Qwen3-8B": 8190735360},
    "mixtral": {"Mixtral-8x7B": 46702792704, "Mixtral-8x22B-v0.1": 140620634112, "Mixtral-8x22B-v0.3": 140630071296},
    "qwen3_moe": {"Qwen3-30B-A3B": 30532122624, "Qwen3-235B-A22B": 235093634560},
    "qwen2_moe": {"Qwen1.5-MoE-A2.7B": 14315784192, "Qwen2-57B-A14B": 57408658944},
    "olmoe": {"OLMoE-1B-7B-0924": 6919161856},
    "gpt_oss": {"gpt-oss-20b": 20914757184, "gpt-oss-120b": 116829156672},
    "deepseek": {"DeepSeek-V2": 235741434880, "DeepSeek-V2-Lite": 15706484224, "DeepSeek-V3": 671026404352},
}
ACTIVE = {  # that a position meets, and those of them in an embedding that it only looks up
    "Mixtral-8x7B": (12879925248, 131072000), "Mixtral-8x22B-v0.1": (39152031744, 196608000), "Mixtral-8x22B-v0.3": (39161468928, 201326592),
    "Qwen3-30B-A3B": (3353032704, 311164928), "Qwen3-235B-A22B": (22190763520, 622329856), "Qwen1.5-MoE-A2.7B": (2689026048, 311164928),
    "Qwen2-57B-A14B": (14249270784, 544538624), "OLMoE-1B-7B-0924": (1282017280, 103022592), "DeepSeek-V3": (37552282624, 926679040),
    "DeepSeek-V2": (21375800320, 524288000), "DeepSeek-V2-Lite": (2661150208, 209715200),
    "gpt-oss-20b": (4187440704, 579133440), "gpt-oss-120b": (5711982912, 579133440),
}  # fmt: skip
STATES = {"DeepSeek-V3": 58 * 256}  # its published number of parameters, 671026419200, includes them


class FamiliesTest(DriverTest):
    def bring(self, name):
        """A folder as transformers writes it, and a text with the train blocks."""
        family = FAMILIES[name]
        folder = self.folder / "checkpoint"
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(family["config"]))
        self.weights = random_weights.with_liking(random_weights.weights({path: tuple(shape) for path, shape in family["shapes"].items()}))
        safetensors_file.write(folder / "model.safetensors", self.weights)
        report = self.npar_json("import", folder)
        states = sum(math.prod(shape) for path, shape in family["shapes"].items() if path.endswith(BIAS))
        self.assertEqual(report.get("state_elements", 0), states)
        self.assertEqual(report["parameters"] + states, sum(math.prod(shape) for shape in family["shapes"].values()))
        model = report["model"]
        (self.folder / "check.npar").write_text(f'import "{model}"\n' + TRAIN.replace("MODEL", NAMES.get(model, model.capitalize())))
        values = {key: "none" if value is None else json.dumps(value) for key, value in report["settings"].items()}
        flags = [*settings(values, **({} if model == "vit" else {"length": RECORDED["length"]})), "--weights", folder]
        if family["task"] == "floats":
            flags += settings(pixels="floats")
        pairs = family["task"] in families_data.LABELLED and model == "bert"
        if family["task"]:
            safetensors_file.write_values(self.folder / "data.safetensors", families_data.data(family["task"], report["settings"].get("pad"), pairs))
        if pairs:
            flags += settings(segments="true")
        if family["task"] == "translate":
            flags += settings(sources=families_data.SOURCES)
        if states:
            flags += settings(bias_rate=0)  # transformers does not move biases
        return flags

    def data(self):
        return ["data.safetensors"] if self.family["task"] else [REFERENCE / "tokens.u16", "--tokens", "u16"]

    def train(self, flags, block, plan, element, steps, *more):
        self.npar(
            "run", "check.npar", "--train", block, *{**PLANS, **ROUTED_PLANS}[plan], *flags, *settings(compute=element), "--data", *self.data(),
            "--data-order", "sequential", "--steps", steps, "--log", "log.jsonl", "--quiet", *more,
        )  # fmt: skip
        return [json.loads(line)["loss"] for line in (self.folder / "log.jsonl").read_text().splitlines()]

    def check_gradients(self, flags, plan):
        self.train(flags, "gradient", plan, "f64", 1, "--output", "moved.safetensors")
        moved = safetensors_file.read(self.folder / "moved.safetensors")
        prefix = "bert." if self.family["task"] == "sentence" else ""  # which such files lack, and transformers reads as well
        if self.family["config"]["model_type"] == "gpt_neox":  # published files have the first name
            moved = {{"embed_out.weight": "lm_head.weight"}.get(path, path): tensor for path, tensor in moved.items()}
        self.assertEqual(set(moved), {prefix + path for path in self.weights})
        least = 1e-6 * max(expected[0] for expected in self.family["gradients"].values())
        for path, expected in self.family["gradients"].items():
            gradient = [(before - after) / RATE for before, after in zip(self.weights[path].values, moved[prefix + path].values)]
            norm = max(expected[0], least)  # the norm for a bias of keys is 0, apart from rounding
            found, scale = random_weights.digest(path, gradient), BOUNDS["f64"] * norm * math.sqrt(len(gradient))
            for value, wanted in zip(found, expected):
                self.assertLessEqual(abs(value - wanted), scale, f"gradient of '{path}'")

    def test_gradients_and_steps(self):
        """Every gradient of each family, and its steps. In the short form a family of this turn has its gradients, or its steps in one type and plan."""
        for number, (name, family) in enumerate(FAMILIES.items()):
            if not LONG and (number + TURN) % 4:
                continue
            self.family = family
            flags = self.bring(name)
            turn = number // 4 + TURN // 4
            routed = any("expert" in path for path in family["shapes"])
            if LONG or turn % 2 == 1:
                with self.subTest(name, turn=TURN):
                    self.check_gradients(flags, "pp ep tp" if routed else "dp pp tp")
            plans = [*GENERAL_PLANS, "tp, stages of one block"] if family["task"] or name == "bloom_six" else list(ROUTED_PLANS if routed else PLANS)[:5]
            wide, narrow = plans, ["one rank", plans[2]]
            if not LONG:
                wide = [wide[turn // 4 % len(wide)]] if turn % 4 == 0 else []
                narrow = [narrow[turn // 4 % len(narrow)]] if turn % 4 == 2 else []
            for plan, element in [*((plan, "f64") for plan in wide), *((plan, "f32") for plan in narrow)]:
                with self.subTest(f"{name} {plan} {element}", turn=TURN):
                    expected = family["losses"][element]
                    losses = self.train(flags, "steps", plan, element, len(expected))
                    apart = max(abs(loss / wanted - 1) for loss, wanted in zip(losses, expected))
                    self.assertLessEqual(apart, BOUNDS[element])

    def check_export(self, name):
        """What `bring` wrote comes back: the same tensors in the same type."""
        self.npar("export", "checkpoint", "--output", name)
        given, exported = (safetensors_file.read(self.folder / folder / "model.safetensors") for folder in ("checkpoint", name))
        self.assertEqual(set(exported), set(given))
        for path, tensor in exported.items():
            self.assertEqual((tensor.element, list(tensor.values)), (given[path].element, list(given[path].values)), path)

    def test_experts_come_back_bit_for_bit(self):
        """Files have a tensor for each expert, or all experts in one; npar has them as one parameter."""
        for name in ("mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "gpt_oss"):
            with self.subTest(name):
                self.family = FAMILIES[name]
                self.bring(name)
                self.check_export(name)

    def test_selection_biases_balance_loads(self):
        """A step moves each bias by the rate, towards the mean load. The loads are those of transformers. Files have the biases, bit for bit."""
        for name, plan, rate in (("deepseek_v3", "dp ep tp, all in shares", 0.001), ("deepseek_v3_plain", "one rank", 0.25)):
            self.family = FAMILIES[name]
            flags = self.bring(name)
            self.check_export(name)
            self.train(flags, "steps", plan, "f64", 1, *settings(bias_rate=rate), "--output", "moved.safetensors")
            moved = safetensors_file.read(self.folder / "moved.safetensors")
            for path, loads in self.family["loads"].items():
                with self.subTest(path):
                    mean = sum(loads) / len(loads)
                    for bias, load, found in zip(self.weights[path].values, loads, moved[path].values, strict=True):
                        self.assertAlmostEqual(found, bias + rate * ((mean > load) - (mean < load)), delta=1e-12)

    def test_what_is_null_in_a_file_is_none(self):
        """Mistral's later files have no window, which null expresses; a file without the key has the default of transformers."""
        for name, keys in {"mistral": {"window": "sliding_window"}, "gemma2": {"cap": "attn_logit_softcapping", "logit_cap": "final_logit_softcapping"}}.items():
            for given, expected in ((None, dict.fromkeys(keys)), ("absent", {"window": 4096, "cap": 50, "logit_cap": 30})):
                config = {**FAMILIES[name]["config"], **dict.fromkeys(keys.values())}
                if given:
                    config = {key: value for key, value in config.items() if key not in keys.values()}
                (self.folder / "config.json").write_text(json.dumps(config))
                found = self.npar_json("import", "config.json")["settings"]
                self.assertEqual({key: found[key] for key in keys}, {key: expected[key] for key in keys}, name)

    def test_generation_ends_at_the_training_length(self):
        """Beyond it, dynamic positions would be others for every length."""
        self.family = FAMILIES["llama_dynamic"]
        flags = self.bring("llama_dynamic")
        error = self.npar("generate", "llama", *flags, "--prompt-tokens", "1,2,3", "--count", 20, code=1).error
        self.assertIn("need a sequence of 22, but the model's length is 16", error)
        self.assertEqual(len(self.npar_json("generate", "llama", *flags, "--prompt-tokens", "1,2,3", "--count", 4, "--quiet")["tokens"]), 4)

    def test_kept_tensors_pass_through(self):
        """The pooler of a sentence model: loaded, kept during training, checkpointed and exported bit for bit; a file may lack it."""
        self.family = FAMILIES["bert_sentence"]
        flags = self.bring("bert_sentence")
        (self.folder / "check.npar").write_text('import "bert"\n' + TRAIN[TRAIN.index("train steps") :].replace("MODEL", "Bert"))
        self.train(flags, "steps", "dp pp tp, all in shares", "f32", 2, "--checkpoint", "kept")
        self.npar("export", "kept", "--output", "out")
        exported = safetensors_file.read(self.folder / "out" / "model.safetensors")
        for name in ("pooler.dense.weight", "pooler.dense.bias"):
            self.assertEqual(list(exported["bert." + name].values), list(self.weights[name].values))
        self.assertNotEqual(list(exported["bert.embeddings.LayerNorm.bias"].values), list(self.weights["embeddings.LayerNorm.bias"].values))
        without = {name: tensor for name, tensor in self.weights.items() if not name.startswith("pooler")}
        safetensors_file.write(self.folder / "checkpoint" / "model.safetensors", without)
        self.npar("export", "checkpoint", "--output", "bare")
        self.assertEqual(set(safetensors_file.read(self.folder / "bare" / "model.safetensors")), {"bert." + name for name in without})

    def test_a_published_masked_model_becomes_a_classifier(self):
        """A file in the form of bert-base-chinese: the first names of norms, heads that a classifier does not need, settings of a pooler. A classifier
        in it is loaded, so its steps are those of transformers; one that it lacks begins with initial values, and so does a pooler."""
        self.family = FAMILIES["bert_classify"]
        flags = self.bring("bert_classify")
        head = {f"cls.{name}": safetensors_file.Tensor(shape, [0.5] * math.prod(shape)) for name, shape in {
            "predictions.transform.dense.weight": (16, 16), "predictions.transform.dense.bias": (16,), "predictions.transform.LayerNorm.gamma": (16,),
            "predictions.transform.LayerNorm.beta": (16,), "predictions.bias": (61,), "seq_relationship.weight": (2, 16), "seq_relationship.bias": (2,)}.items()}  # fmt: skip
        first = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor for name, tensor in self.weights.items()}
        weights = self.folder / "checkpoint" / "model.safetensors"
        safetensors_file.write(weights, {**first, **head})
        expected = self.family["losses"]["f64"][:20]
        for loss, wanted in zip(self.train(flags, "steps", "dp pp tp", "f64", 20), expected, strict=True):
            self.assertLessEqual(abs(loss / wanted - 1), BOUNDS["f64"])
        body = {name: tensor for name, tensor in {**first, **head}.items() if not name.startswith(("classifier", "bert.pooler"))}
        safetensors_file.write(weights, body)
        command = ["run", "check.npar", "--train", "steps", "--plan", "none", *flags, "--data", "data.safetensors", "--steps", 1]
        self.assertIn("4 parameters are not in ", self.npar(*command).error)
        other = {"classifier.weight": safetensors_file.Tensor((5, 16), [1.0] * 80), "classifier.bias": safetensors_file.Tensor((5,), [1.0] * 5)}
        safetensors_file.write(weights, {**first, **head, **other})  # of other classes
        self.assertIn("--fresh 'classifier.*'", self.npar(*command, code=1).error)
        self.assertIn("2 parameters get their initial values", self.npar(*command, "--fresh", "classifier.*").error)

    def test_published_configurations(self):
        """The keys of hfl/chinese-roberta-wwm-ext's config.json, for its three classes."""
        config = {
            "attention_probs_dropout_prob": 0.1, "bos_token_id": 0, "directionality": "bidi", "eos_token_id": 2, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
            "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512,
            "model_type": "bert", "num_attention_heads": 12, "num_hidden_layers": 12, "output_past": True, "pad_token_id": 0, "pooler_fc_size": 768,
            "pooler_num_attention_heads": 12, "pooler_num_fc_layers": 3, "pooler_size_per_head": 128, "pooler_type": "first_token_transform",
            "type_vocab_size": 2, "vocab_size": 21128,
        }  # fmt: skip
        labels = {"id2label": {"0": "差评", "1": "好评"}, "label2id": {"差评": 0, "好评": 1}}
        for architecture, more, task, parameters in (  # counted by transformers
            ("BertForMaskedLM", {}, "masked", 102290312), ("BertForSequenceClassification", labels, "classify", 102269186), ("BertModel", {}, "sentence", 102267648),
        ):  # fmt: skip
            (self.folder / "config.json").write_text(json.dumps({**config, **more, "architectures": [architecture]}))
            report = self.npar_json("import", "config.json")
            self.assertEqual((report["settings"]["task"], report["settings"]["classes"], report["parameters"]), (task, 2, parameters))

    def test_vectors_of_texts(self):
        """Both ways of pooling, with and without length 1, against transformers; no input for the goal; the texts are no multiple of the batch."""
        self.family = FAMILIES["bert_sentence"]
        flags = self.bring("bert_sentence")
        texts, width = EMBEDDINGS["texts"], 16
        element, shape, values = families_data.data("sentence", 0)["tokens"]
        safetensors_file.write_values(self.folder / "texts.safetensors", {"tokens": (element, [texts, shape[1]], values[: texts * shape[1]])})
        cases = [("cls", "true", "none"), ("cls", "false", "three_d"), ("mean", "true", "three_d"), ("mean", "false", "none")]
        for pooling, normalized, plan in cases if LONG else cases[TURN % 2 :: 2]:
            with self.subTest(pooling, normalized=normalized, turn=TURN):
                mesh_of = settings(mesh(dp=2, pp=1, tp=2)) if plan != "none" else []
                self.npar("eval", "check.npar", *flags, "--plan", plan, *mesh_of, "--train", "steps", *settings(pooling=pooling, normalized=normalized),
                          "--data", "texts.safetensors", "--outputs", "vectors.safetensors", "--quiet")  # fmt: skip
                found = safetensors_file.read(self.folder / "vectors.safetensors")["sentence"]
                self.assertEqual(found.shape, [texts, width])
                for row in range(texts):
                    wanted = EMBEDDINGS["vectors"][pooling][width * row : width * row + width]
                    size = math.sqrt(sum(value * value for value in wanted)) if normalized == "true" else 1.0
                    for value, other in zip(found.values[width * row : width * row + width], wanted, strict=True):
                        self.assertLessEqual(abs(value - other / size), 1e-6)
        (self.folder / "checkpoint" / "1_Pooling").mkdir()
        (self.folder / "checkpoint" / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
        self.assertIn("1_Pooling/config.json' is not read", self.npar("import", "checkpoint").error)

    def test_a_head_that_is_not_the_tied_one(self):
        """A file may have both tensors. If they differ the model has a head of its own, as transformers loads it; what no model has is refused."""
        self.family = FAMILIES["qwen2"]
        self.bring("qwen2")
        config = {**self.family["config"], "tie_word_embeddings": True}
        (self.folder / "checkpoint" / "config.json").write_text(json.dumps(config))
        weights = self.folder / "checkpoint" / "model.safetensors"
        self.weights["lm_head.weight"] = self.weights["model.embed_tokens.weight"]
        safetensors_file.write(weights, self.weights)
        self.npar("export", "checkpoint", "--output", "same")
        other = random_weights.weights({"lm_head.weight": tuple(self.family["shapes"]["model.embed_tokens.weight"])})
        safetensors_file.write(weights, {**self.weights, **other})
        self.assertEqual(self.npar_json("import", "checkpoint")["settings"]["tied"], False)
        self.npar("export", "checkpoint", "--output", "out")
        self.assertIn("lm_head.weight", safetensors_file.read(self.folder / "out" / "model.safetensors"))
        self.assertIs(json.loads((self.folder / "out" / "config.json").read_text())["tie_word_embeddings"], False)
        values = {key: "none" if value is None else json.dumps(value) for key, value in self.npar_json("import", "out")["settings"].items()}
        error = self.npar("export", "out/model.safetensors", "--model", "qwen2", *settings(values, tied="true"), "--output", "none", code=1).error
        self.assertIn("'lm_head.weight' and 'model.embed_tokens.weight' must hold the same values and differ", error)
        self.assertIn("--set tied=false", error)
        self.family = FAMILIES["gemma2"]
        self.bring("gemma2")
        shapes = self.family["shapes"]
        other = random_weights.weights({"lm_head.weight": tuple(shapes["model.embed_tokens.weight"])})
        safetensors_file.write(weights, {**self.weights, **other})
        for command in (("export", "checkpoint", "--output", "none"), ("import", "checkpoint")):
            self.assertIn("'lm_head.weight' and 'model.embed_tokens.weight' must hold the same values and differ", self.npar(*command, code=1).error)
        self.assertFalse((self.folder / "none").exists())

    def test_keys_that_must_fit_each_other(self):
        for name, changes, expected in (
            ("t5", {"dense_act_fn": "gelu_new"}, "that of a relu layer is relu (activation; dense_act_fn of a config.json)"),
            ("t5", {"pad_token_id": None}, "'pad_token_id' is null, npar's T5 computes 0 only"),
            ("bert", {"pad_token_id": None}, "'pad_token_id' is null, npar's Bert computes 0 only"),
            ("bloom", {"slow_but_exact": True}, "'slow_but_exact' is true"),
            ("mixtral", {"output_router_logits": True}, "'output_router_logits' is true, npar's Mixtral computes false or null only"),
            ("mixtral", {"router_jitter_noise": 0.1}, "'router_jitter_noise' is 0.1"),
            ("olmoe", {"clip_qkv": 8.0}, "'clip_qkv' is 8.0, npar's Olmoe computes null only"),
            ("qwen3_moe", {"use_sliding_window": True}, "'use_sliding_window' is true"),
            ("deepseek_v3", {"scoring_func": "softmax"}, "'scoring_func' is \"softmax\", npar's Deepseek computes \"sigmoid\" only"),
            ("gpt_oss", {"quantization_config": {"quant_method": "mxfp4"}}, "says in 'quantization_config' that the weights are quantized"),
        ):
            (self.folder / "config.json").write_text(json.dumps({**FAMILIES[name]["config"], **changes}))
            self.assertIn(expected, self.npar("import", "config.json", code=1).error)

    def test_a_fraction_stays_one(self):
        """transformers tells 3.0 from 3."""
        config = {**FAMILIES["gemma3"]["config"], "final_logit_softcapping": 3.0}
        (self.folder / "config.json").write_text(json.dumps(config))
        self.assertIn("logit_cap=3.0", self.npar("import", "config.json").output.split())

    def test_keys_of_published_files_without_effect(self):
        for name, keys in {"llama": {"transformers.js_config": {"dtype": {"fp16": "q4"}}, "max_sequence_length": 2048, "hidden_act": "swish"},
                           "phi3": {"full_attn_mod": 1, "head_dim": 8}, "gemma3_text": {"attn_logit_softcapping": 50.0, "_sliding_window_pattern": 2},
                           "gpt_neox": {"partial_rotary_factor": 0.75, "rope_theta": 77, "hidden_dropout_prob": 0}, "starcoder2": {"scale_attn_weights": True},
                           "deepseek_v3": {"num_nextn_predict_layers": 1, "aux_loss_alpha": 0.001, "seq_aux": True, "ep_size": 1},
                           "gpt_oss": {"initial_context_length": 4096, "experts_per_token": 2}, "qwen2_moe": {"mlp_only_layers": None},
                           "gemma2": {"sliding_window_size": 4096}, "bert": {"sentence_transformers": {"version": "4.1"}}}.items():  # fmt: skip
            config = next(family["config"] for family in FAMILIES.values() if family["config"]["model_type"] == name)
            found = []
            for text in (config, {**config, **keys}):
                (self.folder / "config.json").write_text(json.dumps(text))
                found.append(self.npar_json("import", "config.json")["settings"])
            self.assertEqual(*found, name)
        (self.folder / "config.json").write_text(json.dumps({**config, "mystery": 3}))
        self.assertIn("'npar import --ignore-key NAME' leaves out a key", self.npar("import", "config.json", code=1).error)

    def test_exported_configurations(self):
        """transformers loaded these (tests/reference/exports_reference.py)."""
        for name, expected in sample(EXPORTED, "llama_llama3", "qwen3_moe", "gemma3", "phi3_longrope", "bert_regress", "t5_gated", "deit_teacher").items():
            with self.subTest(name):
                shutil.rmtree(self.folder / "exported", ignore_errors=True)
                self.family = FAMILIES[name]
                self.bring(name)
                report = self.npar_json("import", "checkpoint")
                values = settings({key: "none" if value is None else json.dumps(value) for key, value in report["settings"].items()})
                self.npar("export", "checkpoint/model.safetensors", "--model", report["model"], *values, "--output", "exported")
                self.assertEqual(json.loads((self.folder / "exported" / "config.json").read_text()), expected)

    def verify_all(self, text, *more):
        report = self.npar_json("verify", "--all", *text.split(), *more, code=None, timeout=3600)
        plans = report["models"][0]["plans"]
        self.assertTrue(report["ok"], [plan for plan in plans if plan["verdict"] == "failed"])
        self.assertLess(max(plan["max_relative_error"] or 0 for plan in plans), 1e-10)
        return report["models"][0]["ok"]

    def test_features_are_equal_to_one_rank(self):
        """What `npar verify --all` makes of each family, in float64."""
        for text, features in sample(VERIFIED, list(VERIFIED)[TURN % len(VERIFIED)]).items():
            with self.subTest(text, turn=TURN):
                self.assertEqual(self.verify_all(text, "--combine", features), 1)
        for seed, text in enumerate(VERIFIED_LONG if LONG else []):
            with self.subTest(text, seed=seed):
                self.verify_all(text, "--plans", 30, "--seed", seed)

    def test_blocks_with_and_without_experts(self):
        """The plan applies to models whose blocks all have experts, and to those where some or all have none."""
        sizes = settings(mesh(dp=1), width=8, heads=2, mlp=8, vocab=16, length=8, depth=2, batch=4)
        cases = {"qwen2_moe": ({"sparse_step": 2}, {"sparse_step": 3}), "qwen3_moe": ({"dense": "[0]"}, {"sparse_step": 3}), "deepseek": ({"dense": 1}, {"dense": 2})}
        for model, (some, none) in cases.items():
            keys = {"dense": 0} if model == "deepseek" else {"kv_heads": 2}
            for more in (keys, {**keys, **some}, {**keys, **none}):
                with self.subTest(model, **more):
                    self.npar("inspect", model, *sizes, *settings(more))

    def test_a_text_of_padding_alone_is_nothing(self):
        """Its vector is 0, and what it should have been counts."""
        tensors = {"tokens": ("I32", [4, 8], [0] * 32), "goal": ("F32", [4, 16], [0.5] * 64)}
        safetensors_file.write_values(self.folder / "data.safetensors", tensors)
        sizes = settings(task="sentence", vocab=61, context=8, width=16, heads=4, depth=1, batch=4)
        report = self.npar_json("run", "bert", "--plan", "none", *sizes, "--data", "data.safetensors", "--steps", 2)
        self.assertEqual(report["loss"], 0.25)

    def test_a_window_without_a_position_is_refused(self):
        refused = self.npar("inspect", "mistral", "--plan", "none", *settings(batch=1, length=8, depth=1, window=0), code=1)
        self.assertIn("a query sees at least itself (window): 0 > 0 does not hold", refused.error)

    def test_groups_of_experts(self):
        config = FAMILIES["deepseek_v3"]["config"]
        for groups, said in ((3, "experts are in groups of equal size (experts, groups): 8 % 3 == 0 does not hold"), (0, "there is at least one group (groups): 0 >= 1"), (-1, "-1 >= 1 does not hold")):
            (self.folder / "config.json").write_text(json.dumps({**config, "n_group": groups}))
            error = self.npar("import", "config.json", code=1).error
            self.assertIn(said, error)
            self.assertIn("this follows from the values of 'config.json'", error)
            self.assertEqual(error.count("error: "), 1, error)

    def test_a_step_between_blocks_with_experts(self):
        for name in ("qwen2_moe", "qwen3_moe"):
            (self.folder / "config.json").write_text(json.dumps({**FAMILIES[name]["config"], "decoder_sparse_step": 0}))
            error = self.npar("import", "config.json", code=1).error
            self.assertIn("every block or some of them have experts (sparse_step): 0 >= 1 does not hold", error)
            self.assertIn("this follows from the values of 'config.json'", error)
            self.assertEqual(error.count("error: "), 1, error)

    def test_published_sizes(self):
        """One rank, one sequence: the count needs no more."""
        short = ("roberta-base", "DeepSeek-V3", "gpt-oss-20b", "Qwen2-57B-A14B", "all-MiniLM-L6-v2", "t5-base", "flan-t5-small", "gemma-2-2b", "Mistral-7B-v0.3", "Qwen2-0.5B", "Qwen3-0.6B",
                 "vit-base-patch16-224", "vit_b_16", "deit-base-distilled-patch16-224")[TURN % 4 :: 4]
        for model, sizes in PUBLISHED.items():
            for name, parameters in (sizes if LONG else {name: sizes[name] for name in short if name in sizes}).items():
                lengths = {} if model in ("vit", "vision_transformer") else {"length": 64, "sources": 64} if model == "t5" else {"length": 64}
                with self.subTest(name):
                    report = self.npar_json("inspect", model, "--config", name, "--plan", "none", *settings(batch=1, **lengths))
                    self.assertEqual((report["parameters"], report.get("state_elements", 0)), (parameters, STATES.get(name, 0)))
                    self.assertEqual((report.get("active_parameters", parameters), report.get("table_parameters")), ACTIVE.get(name, (parameters, None)))


if __name__ == "__main__":
    unittest.main()
