"""The inspector's page in a real browser: it draws, says nothing to the console, and does what mouse and keys ask for."""

import pathlib
import struct
import unittest
import zlib

import chromium
from driver import SMALL, DriverTest, mesh, settings


def unpacked(png):
    """Width, height and the bytes of a PNG's pixels as they are filtered: zeros nearly everywhere when the picture is blank."""
    at, data = 8, b""
    width, height = struct.unpack(">II", png[16:24])
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        data += png[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    return width, height, zlib.decompress(data)


@unittest.skipUnless(chromium.PROGRAM, "chromium is not installed")
class PageTest(DriverTest):
    @classmethod
    def setUpClass(cls):
        cls.browser = chromium.Chromium(width=1000, height=800)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def make_page(self, *more, **sizes):
        sizes = {"dp": 1, "pp": 4, "tp": 2, **sizes}
        view = ["compare"] if "--compare-set" in more else []
        self.npar("inspect", *view, "gpt2", "--plan", "three_d", *settings(SMALL, mesh(**sizes), depth=max(4, sizes["pp"])), *more, "--html", "p.html")
        return self.folder / "p.html"

    def open_page(self, path):
        self.browser.messages.clear()
        self.browser.open(path)
        self.addCleanup(lambda: self.assertEqual(self.browser.messages, []))

    def middle(self, *box):
        place = self.browser.value(f"inspector.place({','.join(map(str, box))})")
        return place["x"] + place["width"] / 2, place["y"] + place["height"] / 2

    def tooltip(self):
        return self.browser.value("document.getElementById('tooltip').hidden ? null : document.getElementById('tooltip').innerText")

    def visible(self):
        return self.browser.value("inspector.range()")

    def first_matmul(self, c, task):
        fragment = f"data.views[0].classes[{c}].fragment({task})"
        step = self.browser.value(f"{fragment}.steps.findIndex(step => step[0] === 'Matmul')")
        self.assertGreaterEqual(step, 0)
        return step

    def test_draws_and_is_silent(self):
        self.open_page(self.make_page())
        self.assertIn("4 stages", self.browser.value("document.getElementById('title').textContent"))
        width, height, pixels = unpacked(self.browser.screenshot(self.folder / "page.png"))
        self.assertGreaterEqual(width, 1000)
        self.assertGreaterEqual(height, 600)
        self.assertGreater(len(pixels) - pixels.count(0), 20000)
        self.assertLessEqual({"8ccbf0", "0072b2", "d55e00"}, self.colours())  # forward, backward, collective

    def test_hover_shows_task_and_step(self):
        self.open_page(self.make_page())
        self.assertIsNone(self.tooltip())
        task = self.browser.value("data.views[0].classes[1].order.find(t => taskName(data.views[0].classes[1], t) === 'B1:2')")
        self.browser.hover(*self.middle(0, 1, task))
        text = self.tooltip()
        self.assertIn("backward of micro-batch 2", text)
        self.assertIn("message from stage 2", text)  # what it waits for
        self.browser.click(*self.middle(0, 1, task), count=2)
        self.browser.click(*self.middle(0, 1, task))
        self.assertEqual(self.browser.value("inspector.chosen()"), 1)
        self.browser.click(*self.middle(0, 1, task), count=2)
        step = self.first_matmul(1, task)
        self.browser.hover(*self.middle(0, 1, task, step))
        self.assertEqual(self.browser.value("inspector.hover()")["step"], step)
        text = self.tooltip()
        self.assertIn("matmul", text)
        self.assertRegex(text, r"\.npar:\d+:\d+")
        self.assertRegex(text, r"[KM]iB read and written")
        self.assertIn("waits for", text)
        self.browser.hover(5, 5)
        self.assertIsNone(self.tooltip())

    def test_hover_highlights_dependencies(self):
        self.open_page(self.make_page())
        task = self.browser.value("data.views[0].classes[1].order.find(t => taskName(data.views[0].classes[1], t) === 'F1:1')")
        mark = "a03000"  # outline and arrow of what is waited for
        self.browser.hover(5, 5)
        self.assertNotIn(mark, self.colours())
        self.browser.hover(*self.middle(0, 1, task))
        self.assertIn(mark, self.colours())
        sender = self.browser.value(f"dependenciesOf(data.views[0], 1, {task}).before.find(box => box.c === 0)")
        name = self.browser.value(f"taskName(data.views[0].classes[0], {sender['task']})")
        self.assertEqual(name, "F0:1")

    def colours(self):
        """Of the picture's pixels, as hexadecimal numbers."""
        self.browser.settle()
        return set(self.browser.value("""(() => {
            const canvas = document.getElementById("picture0"), copy = document.createElement("canvas"), seen = new Set();
            copy.width = canvas.width;
            copy.height = canvas.height;
            const pen = copy.getContext("2d", { willReadFrequently: true });
            pen.drawImage(canvas, 0, 0);
            const pixels = pen.getImageData(0, 0, copy.width, copy.height).data;
            for (let i = 0; i < pixels.length; i += 4) seen.add((pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2]);
            return [...seen].map(number => number.toString(16).padStart(6, "0"));
        })()"""))  # fmt: skip

    def test_zoom_and_move(self):
        self.open_page(self.make_page())
        whole = self.visible()
        x, y = self.middle(0, 0, 1)
        self.browser.wheel(600, y, -600)
        near = self.visible()
        self.assertLess(near[1] - near[0], 0.7 * (whole[1] - whole[0]))
        self.browser.wheel(600, y, 600)
        self.assertGreater(self.visible()[1] - self.visible()[0], near[1] - near[0])
        self.browser.value("show(...inspector.range().map((t, i) => i ? t / 2 : t))")
        before = self.visible()
        self.browser.drag(700, y, 500, y)
        after = self.visible()
        self.assertGreater(after[0], before[0])
        self.assertAlmostEqual(after[1] - after[0], before[1] - before[0], delta=1e-6 * before[1])
        self.browser.value("document.getElementById('picture0').focus()")
        for key, test in (("+", lambda a, b: b[1] - b[0] < a[1] - a[0]), ("ArrowRight", lambda a, b: b[0] > a[0]), ("0", lambda a, b: b == whole)):
            before = self.visible()
            self.browser.key(key)
            self.assertTrue(test(before, self.visible()), f"{key}: {before} {self.visible()}")
        self.browser.value("document.getElementById('in').click()")
        self.assertLess(self.visible()[1] - self.visible()[0], whole[1] - whole[0])

    def test_switches_class_by_list_key_and_click(self):
        self.open_page(self.make_page())
        self.assertEqual(self.browser.value("document.getElementById('class').length"), 4)
        self.browser.value("(() => { const list = document.getElementById('class'); list.value = '2'; list.dispatchEvent(new Event('change')); })()")
        self.assertIn("stage 2", self.browser.value("document.querySelector('#tables0 div:nth-child(2) caption').textContent"))
        self.browser.value("document.getElementById('picture0').focus()")
        self.browser.key("ArrowDown")
        self.assertEqual(self.browser.value("inspector.chosen()"), 3)
        self.browser.click(*self.middle(0, 1, 1))
        self.assertEqual(self.browser.value("inspector.chosen()"), 1)

    def test_keys_reach_every_task_and_step(self):
        self.open_page(self.make_page())
        self.browser.value("document.getElementById('picture0').focus()")
        for key in ("n", "n", "s", "s"):
            self.browser.key(key)
        hover = self.browser.value("inspector.hover()")
        self.assertEqual((hover["task"], hover["step"]), (1, 1))
        self.assertIn("step 1 of F0:0", self.browser.value("document.getElementById('spoken').textContent"))
        self.browser.key("Escape")
        self.assertIsNone(self.tooltip())

    def test_memory_follows_the_numbers(self):
        self.open_page(self.make_page())
        for c in range(4):
            peak, highest = self.browser.value(f"(one => [one.peak.bytes, Math.max(...memoryOf(one).total)])(data.views[0].classes[{c}])")
            self.assertEqual(peak, highest)
        shown = self.browser.value("(p => { const r = p.canvas.getBoundingClientRect(); return [r.left + 500, r.top + p.layout.memory + 60]; })(pictures[0])")
        self.browser.hover(*shown)
        self.assertRegex(self.tooltip(), r"live at(.|\n)*stash(.|\n)*parameters")

    def test_two_plans_above_each_other(self):
        self.open_page(self.make_page("--compare-set", "schedule=gpipe"))
        self.assertEqual(self.browser.value("document.querySelectorAll('canvas.picture').length"), 2)
        titles = self.browser.value("[...document.querySelectorAll('section h2')].map(node => node.textContent)")
        self.assertIn("1f1b", titles[0])
        self.assertIn("gpipe", titles[1])
        tops = self.browser.value("[0, 1].map(v => inspector.place(v, 0, 1)).map(box => [box.x, box.y])")
        self.assertAlmostEqual(tops[0][0], tops[1][0], delta=2)  # one time axis
        self.assertGreater(tops[1][1], tops[0][1] + 100)
        y = self.middle(0, 0, 1)[1]
        self.browser.wheel(400, y, -400)  # on the first: both follow
        boxes = self.browser.value("[0, 1].map(v => inspector.place(v, 0, 1).width)")
        self.assertAlmostEqual(boxes[0], boxes[1], delta=2)
        self.browser.value("showAll(), document.getElementById('picture1').scrollIntoView()")
        self.browser.settle()
        self.browser.hover(*self.middle(1, 0, 2))
        self.assertIn("forward of micro-batch 1", self.tooltip())

    def test_dark_and_light(self):
        path = self.make_page()
        self.open_page(path)
        light = self.colours()
        self.browser.prefer("dark")
        dark = self.colours()
        self.browser.prefer("light")
        self.assertIn("ffffff", light)
        self.assertIn("16181b", dark)

    def test_64_stages_stay_usable(self):
        path = self.make_page(pp=64, tp=1)
        self.assertLess(path.stat().st_size, 4 << 20)
        self.open_page(path)
        self.assertEqual(self.browser.value("document.getElementById('class').length"), 64)
        milliseconds = self.browser.value("(() => { const begun = performance.now(); pictures[0].draw(state); return performance.now() - begun; })()")
        self.assertLess(milliseconds, 2000)

    def test_hostile_names_are_text(self):
        """A model text in a folder and of a name that would end the script."""
        folder = self.folder / "<script>alert(1)<"
        folder.mkdir()
        library = pathlib.Path(__file__).resolve().parent.parent.parent / "stdlib"
        name = "</script><script>alert(2)<"
        inner = folder / name
        inner.parent.mkdir(parents=True, exist_ok=True)
        inner.write_bytes((library / "models" / "gpt2.npar").read_bytes())
        self.npar("inspect", inner, "--plan", "three_d", *settings(SMALL), "--html", "p.html")
        self.assertIn("alert(2)", (self.folder / "p.html").read_text())
        self.open_page(self.folder / "p.html")
        self.assertEqual(self.browser.value("document.scripts.length"), 2)
        places = self.browser.value("data.views[0].labels.map(placeOf).filter(place => place.includes('</script>')).length")
        self.assertGreater(places, 0)


if __name__ == "__main__":
    unittest.main()
