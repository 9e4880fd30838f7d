"""`npar plan`: what it writes compiles as it is and takes what it says; the layout that alone fits is found; two searches write the same bytes."""

import html.parser
import json
import re
import unittest

import chromium
from driver import LONG, ROOT, DriverTest, sample, settings

SMALL = {"vocab": 257, "context": 32, "width": 32, "heads": 4, "depth": 4, "length": 16}

# GShard / Switch: each position goes to its best experts, which take at most `room` positions of a sequence.
ROUTED = """import "Embedding"
import "LayerNorm"
import "Projection"

layer Routed(embed, hidden, seq, expert, slot, room, rooms) {
    gate = Projection(embed, expert, 0.5)
    param w1: [expert, embed, hidden] = normal(0.1)
    param w2: [expert, hidden, embed] = normal(0.1)
    forward(x, p) {
        best  = top_k(p, along = slot, over = expert)
        share = gather(p, best, over = expert)
        mine  = one_hot(best, over = expert)
        taken = sum(mine, over = slot)
        place = cumsum(int(taken), over = seq) - 1
        fits  = taken * where(place < rooms, 1.0, 0.0)
        send  = one_hot(place, over = room) * fits
        weight = sum(mine * share, over = slot)
        inner = einsum(send, x, over = seq)
        inner = einsum(gelu(einsum(inner, w1, over = embed)), w2, over = hidden)
        return einsum(send * weight, inner, over = [expert, room])
    }
}

model Switch(vocab = 32, width = 256, length = 64, experts = 16, slots = 2, rooms = 4, depth = 2) {
    axis batch, seq = length, vocab, embed = width, hidden = 2 * width, expert = experts, slot = slots, room = rooms
    input tokens, targets: i32[batch, seq]
    table = Embedding(vocab, embed)
    x = table(tokens)
    repeat layers[depth] {
        norm = LayerNorm(embed)
        moe = Routed(embed, hidden, seq, expert, slot, room, rooms)
        y = norm(x)
        x = x + moe(y, softmax(moe.gate(y), over = expert))
    }
    loss cross_entropy(project(x, table.weight), targets, over = vocab)
}

train base for Switch { batch 64 optimizer AdamW(lr = 1e-3) clip 1.0 }
"""


def machine(count=4, memory="1 GB", price=""):
    return f"""machine quartet {{
    device {{ count {count} devices  memory {memory}  reserved 0 B  fragments 0 % }}
    {price}
    step {{ launch 1 us }}
    memory {{ far 100 GB/s  move 100 GB/s }}
    kernel {{ operation 0 ps  function 0 ps }}
    link host {{ bandwidth 10 GB/s  latency 5 us }}
    link cluster {{ bandwidth 1 GB/s  latency 20 us }}
    product f32 {{ rate 1 TFLOP/s  rows 1 rows  columns 1 columns  depth 1 terms  peak 2 TFLOP/s }}
    attention f32 {{ rate 1 TFLOP/s  rows 0 rows }}
    attention_grad f32 {{ rate 1 TFLOP/s  rows 0 rows }}
}}
"""


class Page(html.parser.HTMLParser):
    """The elements of a page that are open, the texts of its scripts, and all places that it names."""

    def __init__(self, text):
        super().__init__()
        self.open, self.scripts, self.links, self.circles = [], [], [], 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "circle", "line", "polyline", "rect"):
            self.open.append(tag)
        self.circles += tag == "circle"
        self.links += [value for name, value in attributes if name in ("src", "href", "action", "data", "xlink:href")]

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag):
        if tag not in ("meta", "circle", "line", "polyline", "rect"):
            assert self.open.pop() == tag, tag

    def handle_data(self, text):
        if self.open and self.open[-1] == "script":
            self.scripts.append(text)


class PlanTest(DriverTest):
    whole = None

    def whole_search(self):
        """What a search without --fix finds: of all tests that ask for it one."""
        if PlanTest.whole is None:
            PlanTest.whole = self.plan("-o", "best.npar")
            self.assertEqual((self.folder / "best.npar").read_text(), PlanTest.whole["text"])
        (self.folder / "quartet.npar").write_text(machine())
        (self.folder / "best.npar").write_text(PlanTest.whole["text"])
        return PlanTest.whole

    def plan(self, *arguments, text=None, **options):
        (self.folder / "quartet.npar").write_text(text or machine())
        return self.npar_json("plan", "gpt2", "--machine", "quartet.npar", "--batch", 16, *settings(SMALL), *arguments, **options)

    def test_the_text_compiles_as_it_is(self):
        found = self.whole_search()
        text = found["text"]
        one = self.npar_json("simulate", "best.npar", "--machine", "quartet.npar", "--hosts", 1)
        for name in ("seconds_per_step", "memory_bytes", "fits", "bubble"):
            self.assertEqual(one[name], found["best"][name], name)
        self.assertEqual(one["ranks"], 4)
        self.assertEqual(self.npar_json("inspect", "best.npar")["parameters"], self.npar_json("inspect", "gpt2", *settings(SMALL), "--plan", "none")["parameters"])
        for line in text.split("plan planned", 1)[1].split("}\n\n", 1)[0].splitlines():
            if line.strip().startswith(("mesh ", "micro ", "store ", "recompute ", "place ", "bucket ", "h ->", "seq ->")):
                self.assertRegex(line, " # (.* would take .*B.*|.* is refused: .*|nothing else was tried)$")

    def test_no_plan_that_was_tried_is_better(self):
        found = self.whole_search()
        fits = [each for each in found["tried"] if each.get("fits")]
        self.assertGreater(len(fits), 10)
        self.assertEqual(min(each["seconds_per_step"] for each in fits), found["best"]["seconds_per_step"])
        least = self.plan("--goal", "memory")["best"]
        self.assertLessEqual(least["memory_bytes"], min(each["memory_bytes"] for each in fits))

    def test_two_searches_write_the_same_bytes(self):
        first = self.npar("plan", "mlp", "--batch", 16, "--jobs", 1).output
        self.assertEqual(self.npar("plan", "mlp", "--batch", 16, "--jobs", 3).output, first)

    def test_the_only_layout_that_fits_is_found(self):
        """A device holds what the smallest of the layouts of two ranks takes, and no more."""
        fixed = [word for fix in ("micro = 1", "zero = 0", "recompute = none", "sequence = false") for word in ("--fix", fix)]
        fixed += ["--set", "width=64"]
        two = machine(count=2)
        found = self.plan(*fixed, "--goal", "memory", text=two)  # tries the small ones, however slow they are
        memory = sorted({each["memory_bytes"] for each in found["tried"] if not each["refused"]})
        self.assertGreater(len(memory), 1)
        planted = self.plan(*fixed, text=machine(count=2, memory=f"{memory[0]} B"))
        self.assertEqual(planted["best"]["memory_bytes"], memory[0])
        self.assertTrue(planted["best"]["fits"])
        failed = self.plan_error(*fixed, text=machine(count=2, memory=f"{memory[0] - 1} B"))
        self.assertIn("no plan fits 1 host of 'quartet'", failed)
        self.assertIn("it would without --fix", failed)

    def plan_error(self, *arguments, text):
        (self.folder / "quartet.npar").write_text(text)
        return self.npar("plan", "gpt2", "--machine", "quartet.npar", "--batch", 16, *settings(SMALL), *arguments, code=1).error

    def test_nothing_fits(self):
        failed = self.plan_error("--fix", "zero=0", text=machine(memory="1 kB"))
        self.assertIn("no plan fits 1 host of 'quartet'", failed)
        self.assertNotIn("it would", failed)

    def test_what_is_fixed_is_kept(self):
        found = self.plan("--fix", "mesh.tp = 2", "--fix", "micro=2")
        for each in found["tried"]:
            self.assertEqual((each["choices"]["mesh.tp"], each["choices"]["micro"]), ("2", "2"))
        sizes = {tuple(each["choices"][f"mesh.{axis}"] for axis in ("dp", "pp")) for each in found["tried"]}
        self.assertEqual(sizes, {("2", "1"), ("1", "2")})

    def test_a_model_beside_the_plan(self):
        """The text imports the model by the way from its own folder."""
        (self.folder / "models").mkdir()
        (self.folder / "models" / "small.npar").write_text("""import "Linear"
model Small(width = 16) {
    axis batch, embed = width, hidden = 2 * width
    input x: f32[batch, embed]
    input answer: f32[batch, hidden]
    up = Linear(embed, hidden)
    loss squared_error(up(x), answer)
}
train base for Small { batch 16 optimizer Sgd(lr = 0.1, momentum = 0.9) }
""")
        (self.folder / "quartet.npar").write_text(machine())
        (self.folder / "plans").mkdir()
        found = self.npar_json("plan", "models/small.npar", "--machine", "quartet.npar", "--set", "width=32", "-o", "plans/best.npar")
        self.assertIn('import "../models/small.npar"', found["text"])
        one = self.npar_json("simulate", "plans/best.npar", "--machine", "quartet.npar")
        self.assertEqual(one["seconds_per_step"], found["best"]["seconds_per_step"])

    def test_other_models(self):
        (self.folder / "quartet.npar").write_text(machine())
        small = {"llama": {"vocab": 64, "context": 32, "length": 16, "width": 32, "heads": 4, "kv_heads": 4, "depth": 4},
                 "bert": {"vocab": 64, "context": 32, "length": 16, "width": 32, "heads": 4, "depth": 4}}
        for model, sizes in sample(small, "bert").items():
            found = self.npar_json("plan", model, "--machine", "quartet.npar", "--batch", 8, "--fix", "micro=1", "--fix", "bucket=none", "--fix", "mesh.cp=1", *settings(sizes))
            self.assertTrue(found["best"]["fits"], model)
            self.assertEqual("decay 0 }" in found["text"], model == "bert") # the rules for parameters come along

    def routed(self, *fixes):
        (self.folder / "routed.npar").write_text(ROUTED)
        (self.folder / "quartet.npar").write_text(machine())
        return self.npar_json("plan", "routed.npar", "--machine", "quartet.npar", *(word for fix in fixes for word in ("--fix", fix)))

    def test_experts_that_see_few_positions(self):
        """They compute a sixteenth of what dense blocks of their size would. No bound leaves out what is better: a fix never helps."""
        narrow = ("mesh.pp=1", "zero=0", "recompute=none", "bucket=none", "sequence=false")
        best = self.routed(*narrow)["best"]["seconds_per_step"]
        for micro in (1, 4, 16):
            self.assertLessEqual(best, self.routed(*narrow, f"micro={micro}")["best"]["seconds_per_step"], micro)

    def test_axes_of_ones_own(self):
        """Tensor parallelism splits the experts first, and in a model of other names what is in its weights and not handed on by its blocks."""
        narrow = ("mesh.tp=2", "mesh.pp=1", "micro=4", "zero=0", "recompute=none", "bucket=none", "sequence=false")
        found = self.routed(*narrow)
        self.assertIn("expert", {each["choices"]["split"] for each in found["tried"] if not each["refused"]})
        self.assertIn("        expert, vocab pad -> tp ", self.routed(*narrow, "split=expert")["text"])
        (self.folder / "own.npar").write_text("""import "Linear"
model Own(width = 16, inner = 32, depth = 2, length = 8) {
    axis batch, spot = length, trait = width, middle = inner
    input x: f32[batch, spot, trait]
    input answer: f32[batch, spot, trait]
    h = tanh(x)
    repeat layers[depth] {
        up   = Linear(trait, middle, 0.3)
        down = Linear(middle, trait, 0.3)
        h = h + down(tanh(up(h)))
    }
    loss squared_error(h, answer)
}
train base for Own { batch 8 optimizer Sgd(lr = 0.1) }
""")
        fixes = [word for fix in ("mesh.tp=2", "mesh.pp=1", "bucket=none") for word in ("--fix", fix)]
        found = self.npar_json("plan", "own.npar", "--machine", "quartet.npar", *fixes, "-o", "split.npar")
        self.assertEqual({each["choices"]["split"] for each in found["tried"]}, {"middle"})
        self.assertIn("        middle -> tp ", found["text"])
        self.npar("verify", "split.npar")
        failed = self.npar("plan", "own.npar", "--machine", "quartet.npar", "--fix", "split=trait", code=2).error
        self.assertIn("'split' is one of all, middle", failed)

    def experts(self, *arguments, command="plan", text=None, **options):
        """Four ranks share eight experts of which a position has two: a rank has room for the rows of four times a balanced load."""
        (self.folder / "quartet.npar").write_text(text or machine())
        sizes = settings({"vocab": 64, "context": 32, "width": 32, "mlp": 64, "heads": 2, "kv_heads": 2, "depth": 2, "experts": 8, "chosen": 2})
        fixed = [word for fix in ("mesh.ep=4", "micro=4", "zero=1", "recompute=none", "bucket=none") for word in ("--fix", fix)]
        return getattr(self, options.pop("by", "npar_json"))(command, "mixtral", "--machine", "quartet.npar", "--batch", 16, *sizes,
                                                             *(fixed if command == "plan" else ()), *arguments, **options)

    def test_a_buffer_for_experts_where_memory_needs_it(self):
        """The rows of the worst case do not fit, fewer rows in rounds do, and the written plan has the clause."""
        whole = self.experts()["best"]
        self.assertEqual(whole["choices"]["buffer"], "none")
        self.assertGreater(whole["worst_seconds_per_step"], whole["seconds_per_step"])
        found = self.experts("-o", "best.npar", text=machine(memory=f"{whole['memory_bytes'] - 1} B"))
        best = found["best"]
        self.assertEqual({each["choices"]["buffer"] for each in found["tried"]}, {"none", "2", "1", "0.5", "0.25"})
        self.assertLess(best["memory_bytes"], whole["memory_bytes"])
        self.assertGreater(best["seconds_per_step"], whole["seconds_per_step"])
        self.assertIn(f"    experts buffer {best['choices']['buffer']} ", found["text"])
        self.assertRegex(found["text"], r"experts buffer \S+ +# (no buffer for experts|experts buffer \S+) would take ")
        self.assertIn("# Times are those of a balanced load of the experts. The worst load takes ", found["text"])
        one = self.npar_json("simulate", "best.npar", "--machine", "quartet.npar", "--hosts", 1)
        for name in ("seconds_per_step", "worst_seconds_per_step", "memory_bytes", "fits"):
            self.assertEqual(one[name], best[name], name)
        self.npar("verify", "best.npar")
        self.assertIn("'buffer' is one of 0.07, 0.13, 0.25, 0.5, 1, 2, none", self.experts("--fix", "buffer=3", by="npar", code=2).error)

    def test_plans_of_experts_are_not_refused(self):
        """What a model with experts never allows is not tried: zigzag order, and a split of the experts with one inside them."""
        (self.folder / "quartet.npar").write_text(machine())
        sizes = settings({"vocab": 64, "context": 8192, "width": 32, "mlp": 64, "heads": 4, "kv_heads": 4, "depth": 2, "experts": 8, "chosen": 2, "length": 4096})
        for mesh in ("mesh.cp=2", "mesh.tp=2"):
            fixes = (mesh, "mesh.pp=1", "mesh.ep=1", "zero=0", "recompute=none", "bucket=none", "sequence=false", "buffer=none")
            found = self.npar_json("plan", "mixtral", "--machine", "quartet.npar", "--batch", 8, *sizes, *(word for fix in fixes for word in ("--fix", fix)))
            self.assertEqual({each["refused"] for each in found["tried"]}, {None})
            self.assertGreater(len(found["tried"]), 2)

    @unittest.skipUnless(LONG, "NPAR_LONG is not set")
    def test_nothing_that_explain_tries_is_better(self):
        (self.folder / "routed.npar").write_text(ROUTED)
        sizes = settings({"compute": "bf16", "vocab": 32000, "width": 1024, "length": 1024, "experts": 16, "rooms": 256, "depth": 8})
        task = ("routed.npar", "--machine", "dgx-a100", "--hosts", 1, "--batch", 64, *sizes)
        planned, explained = (self.npar_json(command, *task)["best"]["seconds_per_step"] for command in ("plan", "explain"))
        self.assertLessEqual(planned, explained)

    def test_context_parallelism_and_what_a_stage_holds(self):
        found = self.plan("--fix", "mesh.cp = 2", "--fix", "mesh.pp = 2", "--fix", "schedule = zb_auto")
        self.assertEqual({each["choices"]["mesh.cp"] for each in found["tried"]}, {"2"})
        self.assertGreater(len({each["choices"]["live"] for each in found["tried"]}), 1)
        self.assertGreater(len({each["choices"]["context"] for each in found["tried"]}), 1)
        self.assertRegex(found["text"], "seq -> cp.* would take ")

    def test_rules_for_parts_of_the_model(self):
        """Each split of tp is a rule of its own for what it is called after, and makes a plan that gives one rank's numbers."""
        rules = {"all": "head, hidden, vocab pad -> tp", "blocks": "head, hidden -> tp", "vocabulary": "vocab pad -> tp\n", "feedforward": 'batch -> tp in layer "h.*.attn"',
                 "attention": 'batch -> tp in layer "h.*.mlp"'}
        verified = sample(rules, "vocabulary")
        for split, rule in sample(rules, "vocabulary", "feedforward", "attention").items():
            fixes = (f"split={split}", "mesh.tp=2", "mesh.pp=1", "micro=2", "bucket=none", "zero=0", "recompute=none", "sequence=false")
            found = self.plan(*(word for fix in fixes for word in ("--fix", fix)), "-o", "part.npar")
            self.assertIn(rule, "\n".join(line.split(" #")[0].rstrip() for line in found["text"].splitlines()))
            if split in verified:
                self.npar("verify", "part.npar")
        self.assertIn("micro 3", self.three_shares())

    def three_shares(self):
        """A micro-batch of three sequences over three ranks stays one of three."""
        (self.folder / "three.npar").write_text(machine(count=3))
        sizes = {**SMALL, "heads": 3, "width": 48}
        return self.npar_json("plan", "gpt2", "--machine", "three.npar", "--batch", 12, *settings(sizes), "--fix", "split=feedforward",
                              "--fix", "mesh.tp=3", "--fix", "micro=3", "--fix", "zero=0", "--fix", "recompute=none")["text"]  # fmt: skip

    def test_sizes_of_ones_own(self):
        """A sequence that is longer than what `npar verify --all` makes models small to."""
        found = self.plan("--set", "length=24", "--fix", "micro=4", "--fix", "bucket=none", "--fix", "mesh.dp=4")
        self.assertIn("length = 24", found["text"])

    def test_a_text_that_chooses_the_size_of_an_imported_model(self):
        """Its configuration is part of the plan's text, which imports it and would not take it otherwise."""
        (self.folder / "small.npar").write_text('import "gpt2"\nconfig "small" for Gpt2(vocab = 257, context = 32, length = 16, width = 32, heads = 4, depth = 1)\n'
                                                "train base for Gpt2 { batch 16 optimizer AdamW(lr = 1e-3) }\n")
        (self.folder / "quartet.npar").write_text(machine())
        found = self.npar_json("plan", "small.npar", "--machine", "quartet.npar", "--fix", "mesh.dp=4", "--fix", "zero=0", "--fix", "recompute=none", "-o", "best.npar")
        self.assertIn("depth = 1", found["text"])
        self.assertEqual(self.npar_json("inspect", "best.npar")["parameters"], self.npar_json("inspect", "small.npar", "--plan", "none")["parameters"])

    def test_a_fix_that_names_nothing(self):
        (self.folder / "quartet.npar").write_text(machine())
        arguments = ("plan", "gpt2", "--machine", "quartet.npar", "--batch", 16, *settings(SMALL), "--fix")
        failed = self.npar(*arguments, "mesh.tp = 3", code=2).error
        self.assertIn("--fix 'mesh.tp = 3' leaves no plan of 4 ranks: 'mesh.tp' is one of 1, 2, 4", failed)
        self.assertIn("'recompute' is one of block, every 2, none", self.npar(*arguments, "recompute=full", code=2).error)
        self.assertIn("--fix has no choice 'speed'", self.npar(*arguments, "speed=1", code=2).error)

    def test_a_batch_that_nothing_divides(self):
        (self.folder / "quartet.npar").write_text(machine(count=7))
        failed = self.npar("plan", "gpt2", "--machine", "quartet.npar", "--batch", 11, *settings(SMALL), code=1).error
        self.assertIn("no mesh of 7 ranks divides the axes that it would split", failed)
        self.assertIn("it would with --batch 14", failed)

    def test_ranks_share_a_processor(self):
        # `npar machine measure` writes a processor that any number of ranks can share: the plan has one for each core.
        text = (ROOT / "stdlib" / "machines" / "cpu-100g.npar").read_text()
        (self.folder / "own.npar").write_text(re.sub(r"cores 64 cores +ranks 2 ranks", "cores 4 cores  ranks 1048576 ranks", text))
        found = self.npar_json("plan", "mlp", "--machine", "own.npar", "--batch", 16)["best"]["choices"]
        self.assertEqual([int(found[f"mesh.{axis}"]) for axis in ("pp", "cp")], [1, 1])
        self.assertEqual(int(found["mesh.dp"]) * int(found["mesh.tp"]), 4)

    def test_money(self):
        found = self.plan("--goal", "money", "--fix", "micro=2", "--fix", "bucket=none", text=machine(price="host { price 36 USD/h }"))
        self.assert_close(found["best"]["dollars_per_step"], found["best"]["seconds_per_step"] / 100, 1e-9)

    def test_recomputation_beside_a_split_backward(self):
        found = self.plan("--fix", "mesh.pp=2", "--fix", "schedule=zb_h1", "--fix", "micro=1")
        self.assertIn("# No recomputation: it is not searched with a backward in two tasks, as zb_h1 has it", found["text"])

    def test_the_nearest_mesh_is_named_with_what_else_differs(self):
        text = self.whole_search()["text"]
        named = re.search(r"mesh [^#]*# (dp = .*) would take ", text)
        self.assertTrue(named, text)
        self.assertNotIn("nearest", named[1])

    def search_page(self, *arguments):
        found = self.plan(*arguments, "--html", "search.html")
        return found, (self.folder / "search.html").read_text()

    def test_the_page_of_a_search(self):
        """It is whole, needs nothing else, and has every plan that was simulated with the figures of the JSON and a text that compiles."""
        found, text = self.search_page("--fix", "micro=2")
        page = Page(text)
        self.assertEqual((page.open, page.links), ([], []))
        self.assertNotIn("http", text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", ""))
        data, simulated = json.loads(page.scripts[0]), [each for each in found["tried"] if not each["refused"]]
        self.assertEqual([(each["seconds"], each["memory"]) for each in data["plans"]], [(each["seconds_per_step"], each["memory_bytes"]) for each in simulated])
        self.assertEqual(page.circles, len(simulated))
        self.assertEqual(data["plans"][data["best"]]["seconds"], found["best"]["seconds_per_step"])
        for each in data["plans"]:
            self.assert_close(sum(each["shares"]), 1, 1e-9)
        for each, plan in zip(data["plans"], simulated): # a lane for each stage, of runs that fill the step; it waits as long as the bubble says
            self.assertEqual(len(each["lanes"]), int(plan["choices"]["mesh.pp"]))
            waits = 0
            for lane in each["lanes"]:
                runs = re.findall(r"(\D)(\d+)", lane)
                self.assertEqual("".join(letter + length for letter, length in runs), lane)
                self.assertEqual(sum(int(length) for _, length in runs), data["columns"])
                self.assertLessEqual({letter for letter, _ in runs}, {"-", *data["looks"]})
                waits += sum(int(length) for letter, length in runs if letter == "-") / data["columns"] / len(each["lanes"])
            self.assertLess(waits, plan["bubble"] + plan["exposed_communication"] + 0.1)
        (self.folder / "one.npar").write_text(data["plans"][-1]["text"])
        one = self.npar_json("simulate", "one.npar", "--machine", "quartet.npar")
        self.assertEqual((one["seconds_per_step"], one["memory_bytes"]), (data["plans"][-1]["seconds"], data["plans"][-1]["memory"]))

    def test_the_page_of_a_search_that_found_nothing(self):
        fixed = [word for fix in ("mesh.dp=2", "micro=8", "zero=0", "recompute=none") for word in ("--fix", fix)]
        least = self.plan("--goal", "memory", *fixed, text=machine(count=2))["best"]["memory_bytes"]
        self.plan_error(*fixed, "--html", "search.html", text=machine(count=2, memory=f"{least - 1} B"))
        page = Page((self.folder / "search.html").read_text())
        data = json.loads(page.scripts[0])
        self.assertEqual((page.open, data["best"]), ([], -1))
        self.assertGreater(len(data["plans"]), 0)
        self.assertFalse(any(each["fits"] for each in data["plans"]))

    @unittest.skipUnless(chromium.PROGRAM, "chromium is not installed")
    def test_pointing_at_a_plan(self):
        self.search_page("--fix", "micro=2", "--fix", "bucket=none", "--fix", "split=all")
        browser = chromium.Chromium()
        self.addCleanup(browser.close)
        browser.open(self.folder / "search.html")
        self.assertIn("(chosen)", browser.value("document.getElementById('name').textContent"))
        other = browser.value("byTime[byTime.length - 1]")
        place = browser.value(f"(() => {{ const box = circles[{other}].getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()")
        browser.click(*place)
        self.assertEqual(browser.value("document.getElementById('text').textContent"), browser.value(f"data.plans[{other}].text"))
        self.assertEqual(browser.value("document.querySelectorAll('#bar span').length"), 3)
        drawn = browser.value("document.querySelectorAll('#lanes rect').length")
        self.assertEqual(drawn, browser.value(f"data.plans[{other}].lanes.join('').match(/[^-0-9]\\d+/g).length"))
        self.assertGreater(drawn, 1)
        self.assertEqual(browser.messages, [])


if __name__ == "__main__":
    unittest.main()
