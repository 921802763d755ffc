"""Tests the numbers of the Python package: logits, hidden states, scores, embeddings, and what
observers see and change. support.py says how it is run.

python_oracle_test.py compares the numbers of a pass with HuggingFace's.
"""

import html
import json
import math
import pickle
import tempfile
import unittest

from support import COMMAND, MODEL, ModelTest, bits, command, main, numpy, python, run

import gpt2cpp


class NumbersTest(ModelTest):
    def test_logits_of_each_token(self):
        ids = self.model.tokenizer.encode("The cat sat on the mat.")
        logits = self.model.logits(ids)
        self.assertEqual((logits.shape, logits.format if numpy is None else logits.dtype),
                         ((len(ids), self.model.vocab_size), "f" if numpy is None else "float32"))
        for i in range(len(ids)):
            session = self.model.session()
            self.assertEqual(bits(session.logits(ids[:i + 1]).tolist()), bits(logits.tolist()[i]))

    def test_embeddings_are_those_of_the_command(self):
        texts = ["The cat", "One day, a dog"]
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("\n".join(texts) + "\n")
            file.flush()
            for pooling, layer in [("mean", -1), ("last", 3)]:
                lines = command("embed", file.name, "--pooling", pooling,
                                *([] if layer < 0 else ["--layer", layer]))
                vectors = self.model.embed(texts, pooling=pooling, layer=layer).tolist()
                self.assertEqual([bits(vector) for vector in vectors],
                                 [bits(line["embedding"]) for line in lines])
                self.assertEqual(self.model.embed(texts[1], pooling=pooling, layer=layer).tolist(),
                                 vectors[1])

    def test_hidden_states_of_each_layer(self):
        states = self.model.hidden_states("The cat sat")
        n_layer = self.model.n_layer
        self.assertIsInstance(states, tuple)
        self.assertEqual([tuple(one.shape) for one in states], [(3, 256)] * (n_layer + 1))
        for layer in range(-n_layer - 1, n_layer + 1):
            self.assertEqual(self.model.hidden_states("The cat sat", layer=layer).tolist(),
                             states[layer].tolist())
            last = self.model.embed("The cat sat", pooling="last", layer=layer).tolist()
            self.assertEqual(states[layer].tolist()[-1], last)
            session = self.model.session()
            self.assertEqual(session.hidden_states("The cat sat", layer=layer).tolist(), last)

    def test_states_give_the_logits(self):
        states = self.model.hidden_states("Once upon a time")[-1]
        logits = self.model.logits("Once upon a time")
        before = self.model.observe("Once upon a time", "block_output")["block_output", 5]
        for found in (self.model.unembed(states), self.model.unembed(before, ln_f=True),
                      gpt2cpp.Model(MODEL, threads=1).unembed(states)):
            self.assertEqual(found.tolist(), logits.tolist())
        self.assertEqual(self.model.unembed(states.tolist()[0]).tolist(), logits.tolist()[0])
        if numpy is not None:
            stacked = numpy.stack([states, states, states])
            self.assertEqual(self.model.unembed(stacked).shape, (3, 4, 4096))
            self.assertEqual(self.model.unembed(stacked.astype(float)[:, ::-1]).tolist(),
                             self.model.unembed(stacked)[:, ::-1].tolist())
        for wrong in ([0.0] * 255, [[0.0] * 256, [0.0] * 255], [], "text"):
            with self.subTest(len(wrong)), self.assertRaisesRegex(ValueError, "^states: "):
                self.model.unembed(wrong)

    def test_scores_are_those_of_the_command(self):
        with open("models/README.md") as file:
            text = file.read()
        scores = self.model.score(text, stride=100)
        line = command("score", "--json", "--stride", 100, "models/README.md")[0]
        self.assertEqual((scores.n_tokens, scores.n_words, scores.n_bytes, scores.n_windows),
                         (line["tokens"], line["words"], line["bytes"], line["windows"]))
        self.assertEqual((-scores.nll, scores.perplexity, scores.bits_per_byte.value),
                         (line["logprob"], line["perplexity"], line["bits_per_byte"]))
        self.assertEqual(scores.by_word, (line["word_perplexity"], line["word_perplexity_error"]))
        first, second = scores.texts[0].tokens[:2]
        self.assertTrue(math.isnan(first.logprob))
        self.assertEqual((first.rank, first.top), (None, []))  # nothing predicts it
        self.assertIsInstance(second.rank, int)

    def test_a_list_of_texts_has_scores_of_each(self):
        texts = ["The cat sat", [443, 452, 258, 401]]
        scores = self.model.score(texts, top_logprobs=1)
        self.assertEqual([[token.id for token in text.tokens] for text in scores.texts],
                         [self.model.tokenizer.encode(texts[0]), texts[1]])
        self.assertEqual(scores.texts[1].tokens[2].top[0][0], 258)  # "Once upon" -> " a"

    def test_scores_are_short_and_valid_json(self):
        scores = self.model.score(["The cat sat", "a", None], on_error="return")
        for shown in (repr(scores), repr(scores.texts[0]), repr(self.model.choices("a", ["b"]))):
            self.assertLess(len(shown), 700)
        self.assertIn(f"perplexity={scores.perplexity!r}, texts=<3>", repr(scores))

        def refuse(constant):
            raise AssertionError(constant)

        found = json.loads(scores.to_json(), parse_constant=refuse)
        self.assertEqual((found["perplexity"], len(found["texts"])), (scores.perplexity, 3))
        first, second = found["texts"][0]["tokens"][:2]
        self.assertEqual((first["logprob"], first["rank"]), (None, None))
        self.assertEqual((second["id"], second["logprob"]), scores.texts[0].tokens[1][:2])
        self.assertIn("error", found["texts"][2])

    def test_a_notebook_shows_the_page_of_the_command(self):
        page = self.model.inspect("The <cat>", skip_layer=[1])
        with tempfile.TemporaryDirectory() as place:
            run(COMMAND, "inspect", "-m", MODEL, "--skip-layer", "1", "-o", place + "/page",
                "The <cat>")
            with open(place + "/page", encoding="utf-8") as file:
                self.assertEqual(page, file.read())
        self.assertLess(len(repr(page)), 50)
        shown = page._repr_html_()
        self.assertEqual(html.unescape(shown.split('srcdoc="')[1].split('"')[0]), page)

    def test_comparisons_are_those_of_the_command(self):
        with open("models/README.md") as file:
            text = file.read()
        with tempfile.TemporaryDirectory() as place:
            shown = run(COMMAND, "quantize", MODEL, place + "/int8", "--text", "models/README.md")
        cost = self.model.compare_perplexity(self.model.convert("int8"), text)
        self.assertIn("perplexity   %.6g -> %.6g " % tuple(cost.perplexity), shown)
        self.assertIn(f" on {cost.n_tokens} tokens in {cost.n_windows} window", shown)
        half = gpt2cpp.Model(MODEL, kv_type="f16")
        same = self.model.compare_perplexity(half, "The cat sat on the mat.")
        self.assertNotEqual(*same.perplexity)
        self.assertTrue(math.isnan(same.standard_error))

    def test_choices_are_those_of_the_command(self):
        context, texts = "The cat", [" sat", " moon was", " was"]
        longest = [5] * self.model.n_positions  # fits behind the end-of-text token alone
        behind = {"truncate": True, "add_bos": True}
        self.assertEqual(self.model.choices([7, 8], [longest], **behind),
                         self.model.choices([], [longest], add_bos=True))
        choices = self.model.choices(context, texts, add_bos=True)
        with tempfile.NamedTemporaryFile("w") as file:
            json.dump({"context": context, "choices": texts}, file)
            file.flush()
            line = command("score", "--bos", "--choices", file.name)[0]
        self.assertEqual([choice.sum for choice in choices],
                         [choice["logprob"] for choice in line["choices"]])
        self.assertEqual([choice.greedy_match for choice in choices], [False, False, True])

    def test_without_numpy_arrays_are_memoryviews(self):
        printed = python(
            "import sys; sys.modules['numpy'] = None\n"
            f"import gpt2cpp; m = gpt2cpp.Model({MODEL!r})\n"
            "x = m.logits([443, 452]); v = m.embed('The cat'); w = m.embed([])\n"
            "def f(ids, scores):\n  scores[ids[0]] = 1e6\n"
            "t = m.generate([443], max_new_tokens=1, logits_processor=f)\n"
            "print(type(x).__name__, x.shape, x[1, 258], v.shape, len(w), t.token_ids)")
        logits = self.model.logits([443, 452]).tolist()
        self.assertEqual(printed, f"memoryview (2, 4096) {logits[1][258]} (256,) 0 [443]\n")

    @unittest.skipIf(numpy is None, "there is no numpy")
    def test_with_numpy_arrays_are_written_in_place(self):
        logits = self.model.logits(numpy.array([443, 452]))
        self.assertTrue(logits.flags.owndata and logits.flags.writeable)
        self.assertEqual(self.model.embed([]).shape, (0, 256))
        seen = []

        def greedy(ids, scores):
            seen.append((type(ids), ids.tolist(), scores.dtype))
            best = scores.argmax()
            scores[:] = -numpy.inf
            scores[best] = 0

        text = self.model.generate([443], max_new_tokens=3, logits_processor=greedy)
        self.assertEqual(text, self.model.generate([443], max_new_tokens=3, temperature=0))
        self.assertEqual(seen[1], (numpy.ndarray, [443, *text.token_ids[:1]], numpy.float32))


def zero(values, place):
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            values[i, j] = 0


class ObserveTest(ModelTest):
    ids = [443, 452, 258, 401, 317]

    def logits(self, seen):
        return self.model.unembed(seen["ln_f_output", self.model.n_layer]).tolist()

    def test_a_session_is_observed_in_parts(self):
        ids = self.model.tokenizer.encode("The cat sat on the mat and was happy.")
        whole = self.model.observe(ids)
        n_layer, n_head = self.model.n_layer, self.model.n_head
        self.assertEqual(len(whole), 3 + 15 * n_layer)
        self.assertEqual(whole["attention_weights", 1].shape, (n_head, len(ids), len(ids)))
        self.assertEqual(whole["ln_2_statistics", 1].shape, (len(ids), 3))

        session = self.model.session()
        session.logits(ids[:3])
        session.append(ids[3:5])
        part = session.observe(ids[5:])
        self.assertEqual(session.tokens, ids)
        self.assertEqual(set(part), set(whole))
        for key, numbers in part.items():
            rows, expected = numbers.tolist(), whole[key].tolist()
            if key[0] == "attention_weights":
                self.assertEqual(rows, [head[3:] for head in expected])
            else:
                self.assertEqual(rows, expected[3:])

    def test_hooks_of_transformer_lens(self):
        # Its documentation: hook_scale is (batch, pos, 1), hook_z (batch, pos, head, d_head), and
        # hook_resid_pre of a block is hook_resid_post of the one before it. Outputs are hook_out.
        whole = self.model.observe("The cat sat")
        hooks = {"blocks.0.hook_resid_pre": ("embeddings", 0),
                 "blocks.4.hook_resid_pre": ("block_output", 3),
                 "blocks.1.attn.hook_z": ("head_outputs", 1),
                 "blocks.5.ln2.hook_scale": ("ln_2_statistics", 5),
                 "ln_final.hook_out": ("ln_f_output", 6),
                 "blocks.2.ln1.hook_out": ("ln_1_output", 2),
                 "blocks.2.hook_resid_mid": ("block_middle", 2),
                 "blocks.2.mlp.hook_pre": ("mlp_preactivations", 2),
                 "blocks.3.attn.hook_pattern": ("attention_weights", 3)}
        seen = self.model.observe("The cat sat", hooks)
        self.assertEqual(sorted(seen), sorted(hooks.values()))
        for hook, place in hooks.items():
            self.assertEqual(seen[place].tolist(), whole[place].tolist())
            if not hook.endswith(("hook_z", "hook_scale")):
                self.assertEqual(seen.get(hook).tolist(), whole[place].tolist())
        z, scale = seen["blocks.1.attn.hook_z"], seen["blocks.5.ln2.hook_scale"]
        self.assertEqual((z.shape, scale.shape), ((3, 4, 64), (3, 1)))
        self.assertEqual(sum(z.tolist()[1], []), whole["head_outputs", 1].tolist()[1])
        rstd = whole["ln_2_statistics", 5].tolist()[1][2]
        self.assertAlmostEqual(scale.tolist()[1][0], 1 / rstd, places=5)
        self.assertNotIn("blocks.3.hook_mlp_out", seen)
        with self.assertRaisesRegex(KeyError, "blocks.3.hook_mlp_out"):
            seen["blocks.3.hook_mlp_out"]
        ours, theirs = (self.model.observe("The cat", "ln_f_output", change={place: zero})
                        for place in (("mlp_output", 2), "blocks.2.hook_mlp_out"))
        self.assertEqual(ours["ln_f_output", 6].tolist(), theirs["ln_f_output", 6].tolist())

    def test_normalized_values_are_those_before_weight_and_bias(self):
        # TransformerLens's LayerNorm: x = x - x.mean(-1); scale = (x.pow(2).mean(-1) + eps).sqrt();
        # hook_normalized is x / scale, and hook_out is hook_normalized * w + b.
        norms = {"blocks.0.ln1": ("blocks.0.hook_resid_pre", "h.0.ln_1"),
                 "blocks.3.ln1": ("blocks.3.hook_resid_pre", "h.3.ln_1"),
                 "blocks.3.ln2": ("blocks.3.hook_resid_mid", "h.3.ln_2"),
                 "ln_final": ("blocks.5.hook_resid_post", "ln_f")}
        whole = self.model.observe("The cat sat")
        for norm, (stream, name) in norms.items():
            hook = norm + ".hook_normalized"
            found = self.model.observe("The cat sat", [hook])[hook].tolist()
            self.assertEqual(found, whole[hook].tolist())
            weight, bias = (self.model.weights[f"{name}.{one}"].tolist()
                            for one in ("weight", "bias"))
            for x, y, out in zip(whole[stream].tolist(), found, whole[norm + ".hook_out"].tolist()):
                mean = math.fsum(x) / len(x)
                scale = math.sqrt(math.fsum((v - mean) ** 2 for v in x) / len(x) + 1e-5)
                for j, v in enumerate(x):
                    self.assertAlmostEqual(y[j], (v - mean) / scale, delta=1e-5)
                    self.assertAlmostEqual(out[j], y[j] * weight[j] + bias[j], delta=2e-5)
        self.assertNotIn("blocks.0.ln1.hook_normalized", self.model.observe("The", "embeddings"))
        with self.assertRaisesRegex(ValueError, "^change: .*ln_1_statistics"):
            self.model.observe("The", change={"blocks.0.ln1.hook_normalized": zero})

    def test_logits_of_the_pass(self):
        plain = self.model.logits(self.ids).tolist()
        for what in (None, "mlp_output", "ln_f_output"):
            seen = self.model.observe(self.ids, what)
            self.assertEqual(seen.logits.tolist(), plain)
            self.assertEqual(("ln_f_output", 6) in seen, what != "mlp_output")
        changed = self.model.observe(self.ids, "ln_f_output", change={("mlp_output", 2): zero})
        self.assertEqual(changed.logits.tolist(), self.logits(changed))
        self.assertNotEqual(changed.logits.tolist(), plain)
        session = self.model.session()
        session.logits(self.ids[:3])
        self.assertEqual(session.observe(self.ids[3:], "keys").logits.tolist(), plain[3:])

    @unittest.skipIf(numpy is None, "there is no numpy")
    def test_observations_can_be_pickled(self):
        seen = self.model.convert("int8").observe("The cat", "block_output", [3])
        copy = pickle.loads(pickle.dumps(seen))
        self.assertEqual([*copy], [*seen])
        self.assertEqual(copy["blocks.3.hook_resid_post"].tolist(),
                         seen["block_output", 3].tolist())

    def test_a_place_stands_for_its_values(self):
        ids = (self.ids * 120)[:512]
        clean, places = self.model.observe(ids), []

        def patch(values, place):
            places.append(place)
            found = clean[place].tolist()
            self.assertTrue(found == values.tolist(), place)  # a diff would take minutes
            for i, row in enumerate(found):
                for j, number in enumerate(row):
                    values[i, j] = number

        names = [("block_output", 1), ("attention_weights", 2), ("ln_2_statistics", 0)]
        seen = self.model.observe(ids, "embeddings", change=dict.fromkeys(names, patch))
        self.assertEqual(seen.logits.tolist(), clean.logits.tolist())
        self.assertEqual(sum(place.rows for place in places if place.name == "block_output"), 512)
        session, places[:] = self.model.session(), []
        session.logits(ids[:5])
        session.observe(ids[5:9], "keys", change=dict.fromkeys(names, patch))
        self.assertEqual(places[0], ("ln_2_statistics", 0, 0, 5, 4))
        part = session.observe(ids[9:11], "keys")
        self.assertEqual(part[gpt2cpp.Place("keys", 1, 0, 10, 1)].tolist(),
                         part["keys", 1].tolist()[1:])
        self.assertNotIn(gpt2cpp.Place("keys", 6, 0, 0, 1), part)
        with self.assertRaisesRegex(KeyError, "position 9"):
            part[gpt2cpp.Place("keys", 1, 0, 8, 1)]

    def test_only_what_is_wanted_is_observed(self):
        for what, layers, expected in (
                (("mlp_output", "embeddings"), [0, 2],
                 {("embeddings", 0), ("mlp_output", 0), ("mlp_output", 2)}),
                (("mlp_output", 2), None, {("mlp_output", 2)}),
                ([("mlp_output", 2), "embeddings"], None, {("mlp_output", 2), ("embeddings", 0)})):
            self.assertEqual(set(self.model.observe("The cat", what, layers)), expected)
        seen = self.model.observe("The cat", "block_output", [3])
        for key in ("keys", ("keys", 3), ("block_output", 4), "hidden_states"):
            with self.assertRaises(KeyError):
                seen.hidden_states if key == "hidden_states" else seen[key]

    def test_wrong_arguments(self):
        for name, arguments in (
                ("what", dict(what="mlp")), ("what", dict(what=("mlp_output", 6))),
                ("what", dict(what=["mlp_output", 2])), ("what", dict(what=5)),
                ("what", dict(what="blocks.6.hook_attn_out")), ("layers", dict(layers=[-1])),
                ("layers", dict(layers=5)), ("layers", dict(layers=[0, "x"])),
                ("layers", dict(what="ln_f_output", layers=[0])),
                ("layers", dict(what=("mlp_output", 2), layers=[2])),
                ("change", dict(change=zero)), ("change", dict(change={("keys", 6): zero})),
                ("change", dict(change={"keys": zero})), ("change", dict(change={("keys", 0): 5})),
                ("change", dict(change={"blocks.0.ln1.hook_scale": zero})),
                ("change", dict(change={"blocks.2.hook_mlp_out": zero, ("mlp_output", 2): zero})),
                ("change", dict(change={("keys", 0): lambda values, place: 0}))):
            with self.subTest(arguments), self.assertRaisesRegex(ValueError, f"^{name}: "):
                self.model.observe("The cat", **arguments)

    def test_changes_are_seen_and_kept_by_the_session(self):
        copies = []

        def double(values, place):
            for i in range(values.shape[0]):
                for j in range(values.shape[1]):
                    values[i, j] *= 2
            copies.append(values)
            return values

        plain = self.model.observe(self.ids)
        session, last = self.model.session(), self.model.session()
        session.logits(self.ids[:2])
        seen = session.observe(self.ids[2:], "values", [1], change={("values", 1): double})
        doubled = [[2 * number for number in row] for row in plain["values", 1].tolist()[2:]]
        self.assertEqual(seen["values", 1].tolist(), doubled)
        self.assertEqual(copies[0].tolist(), doubled)  # a copy, which nothing overwrites
        last.logits(self.ids)
        self.assertNotEqual(session.logits([258]).tolist(), last.logits([258]).tolist())

    def test_a_function_that_fails_ends_the_call(self):
        calls = []

        def fail(values, place):
            calls.append(place)
            raise KeyError("enough")

        session = self.model.session()
        with self.assertRaisesRegex(KeyError, "enough"):
            session.observe(self.ids, change={("keys", 0): fail, ("keys", 1): fail})
        self.assertEqual(calls, [gpt2cpp.Place("keys", 0, 0, 0, 5)])
        for use in (self.model.logits, self.model.generate, self.model.score):
            with self.assertRaisesRegex(ValueError, "callback"):
                self.model.observe(self.ids, change={("keys", 0): lambda *_: use(self.ids)})
        self.assertEqual(session.tokens, self.ids)


main()
