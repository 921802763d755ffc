#!/usr/bin/env python3
"""Draws the speed beside other engines as an SVG: plot_peers.py [JSON] > SVG

The JSON, by default tools/peers.json, has the measured tokens per second. The picture shows three
of the tasks, one column each with a scale of its own, and all weight types. Text is text, and the
colors suit light and dark pages.
"""

import json
import os
import sys

# The columns: the task in the JSON, and the title in the picture.
TASKS = {
    "reading a prompt of 512 tokens": "reading a prompt of 512",
    "writing after 16 tokens": "writing one text",
    "writing 8 texts at once": "writing 8 texts at once",
}
COLORS = {"gpt2.cpp": "#2f81f7", "llama.cpp": "#d29922", "CTranslate2": "#8b949e"}

LEFT, TOP, COLUMN, GAP = 48, 74, 250, 16  # pixels
BAR, STEP, GROUP_GAP, NUMBER = 11, 14, 12, 44

STYLE = """\
text { font: 12px -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", Helvetica, Arial, sans-serif; fill: #1f2328 }
.title, .type { font-weight: 600 }
.number { font-size: 11px }
.note { font-size: 11px; fill: #59636e }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .note { fill: #9198a1 } }"""


def text(x, y, content, kind=None, anchor=None):
    attributes = f' class="{kind}"' if kind else ""
    attributes += f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:g}" y="{y:g}"{attributes}>{content}</text>'


def bar(x, y, width, engine):
    return (f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{BAR}" rx="2" '
            f'fill="{COLORS[engine]}"/>')


def legend(engines):
    """The names of the engines, each with its colour, in one line."""
    x = LEFT
    for engine in engines:
        yield bar(x, 30, BAR, engine)
        yield text(x + BAR + 5, 40, engine)
        x += 34 + 7 * len(engine)


def column(measured, task, title, x):
    """The bars of one task: a group for each weight type."""
    yield text(x, TOP - 10, title, "title")
    longest = max(max(tasks[task].values()) for tasks in measured.values())
    y = TOP
    for tasks in measured.values():
        for engine in COLORS:
            if engine in tasks[task]:
                speed = tasks[task][engine]
                width = speed / longest * (COLUMN - NUMBER)
                yield bar(x, y, width, engine)
                yield text(x + width + 4, y + BAR - 1.5, f"{speed:,}", "number")
                y += STEP
        y += GROUP_GAP


def weight_types(measured):
    """The names of the groups, and the height of the picture."""
    y = TOP
    for name, tasks in measured.items():
        size = len(next(iter(tasks.values()))) * STEP
        yield text(LEFT - 10, y + size / 2 + 2.5, name, "type", "end")
        y += size + GROUP_GAP


def picture(data):
    measured = data["tokens_per_second"]
    width = LEFT + len(TASKS) * (COLUMN + GAP)
    bars = sum(len(next(iter(tasks.values()))) for tasks in measured.values())
    height = TOP + bars * STEP + len(measured) * GROUP_GAP + 20
    what = f'{data["model"]}: tokens per second, longer is faster'
    note = f'{data["machine"]}; {data["date"]}; each column has its own scale'
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           f'width="{width}" height="{height}" role="img">')
    yield f"<title>{what}</title>\n<style>\n{STYLE}\n</style>"
    yield text(LEFT, 18, what, "title")
    yield from legend(data["engines"])
    yield from weight_types(measured)
    for i, (task, title) in enumerate(TASKS.items()):
        yield from column(measured, task, title, LEFT + i * (COLUMN + GAP))
    yield text(LEFT, height - 6, note, "note")
    yield "</svg>"


def main(path=os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers.json")):
    with open(path) as file:
        data = json.load(file)
    print("\n".join(picture(data)))


if __name__ == "__main__":
    main(*sys.argv[1:])
