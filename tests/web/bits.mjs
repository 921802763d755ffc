// The cases that have the same bits as the command, for Node and for browsers. No expected value
// comes from gpt2.wasm: the command prints them, or one_answer_test.cpp pins them.

// The hash of all logits of README's commands, and those of gpt2 --stats --greedy with --dtype
// stored, int8 and int4.
const kReadme = {
  f32: "9e4f1205186e90c8", bf16: "2582d57fae6ea3ea", int8: "a08f36e4983cbf19",
  int4: "550105d7274d280b",
};
const kOracle = {
  odd_sizes: ["aebd01bdd97e824f", "ac4cb28a3775dfb1", "7590fcb099b76473"],
  act_quick_gelu: ["6166cca112bc903e", "caa8fef025ca6f6d", "083c5fd792a8eadf"],
  reorder_upcast_inverse: ["a5f7821649b2a5a4", "283a0ce2fdde87ff", "4078def48bd16bdd"],
  untied: ["22f21403bff54ad4", "252ce12d99b8faaa", "5d9c761fa6f3cdea"],
  weights_bf16: ["47ccbdaa2fdc00bc", "84a0649df0168327", "1523b679cf7f9dec"],
  weights_f16: ["718e27c2707b38ca", "f6df34919dc30238", "4e503e63723ca968"],
};

// The model of one_answer_test.
const kSizes = { vocab_size: 1003, n_positions: 100, n_embd: 330, n_layer: 2, n_head: 5,
  n_inner: 1037 };

// random_value() of src/cli/bench/random_model.cpp
function randomValue(tensor, element) {
  let bits = (Math.imul(element, 0x9E3779B1) + Math.imul(tensor, 0x85EBCA6B)) >>> 0;
  bits = Math.imul(bits ^ bits >>> 16, 0x7FEB352D);
  bits = Math.imul(bits ^ bits >>> 15, 0x846CA68B);
  bits ^= bits >>> 16;
  return Math.fround(((bits >>> 8) / 2 ** 24 - 0.5) * Math.fround(0.0692820323));
}

// Returns the shapes of a model's weights by their names.
export function shapesOf({ vocab_size, n_positions, n_embd, n_layer, n_inner }) {
  const shapes = { "wte.weight": [vocab_size, n_embd], "wpe.weight": [n_positions, n_embd] };
  const add = (name, n, k) => {
    shapes[name + ".weight"] = k ? [k, n] : [n];
    shapes[name + ".bias"] = [n];
  };
  for (let layer = 0; layer < n_layer; ++layer) {
    const h = `h.${layer}.`;
    add(h + "ln_1", n_embd);
    add(h + "ln_2", n_embd);
    add(h + "attn.c_attn", 3 * n_embd, n_embd);
    add(h + "attn.c_proj", n_embd, n_embd);
    add(h + "mlp.c_fc", n_inner, n_embd);
    add(h + "mlp.c_proj", n_embd, n_inner);
  }
  add("ln_f", n_embd);
  return shapes;
}

// Returns the files of random_model().
function randomModel() {
  const header = {};
  const values = [];
  for (const [tensor, [name, shape]] of Object.entries(shapesOf(kSizes)).entries()) {
    const begin = values.length * 4;
    const offset = shape.length === 1 && name.endsWith(".weight") ? 1 : 0;
    const count = shape.reduce((product, size) => product * size);
    for (let i = 0; i < count; ++i) values.push(offset + randomValue(tensor, i));
    header[name] = { dtype: "F32", shape, data_offsets: [begin, values.length * 4] };
  }
  const encode = (json) => new TextEncoder().encode(JSON.stringify(json));
  const head = encode(header);
  const weights = new Uint8Array(8 + head.length + values.length * 4);
  new DataView(weights.buffer).setBigUint64(0, BigInt(head.length), true);
  weights.set(head, 8);
  weights.set(new Uint8Array(Float32Array.from(values).buffer), 8 + head.length);
  return { "config.json": encode({ model_type: "gpt2", ...kSizes }), "model.safetensors": weights };
}

const idsOf = (length, seed) =>
  Array.from({ length }, (_, i) => (i * 7919 + 13 + seed * 101) % kSizes.vocab_size);

// Reads the last ids of one_answer_test one by one, by writing them, so that the hash is that of
// their logits. Alone, and in a batch of nine texts.
const kIds = idsOf(100, 0);
const kRest = { prompt: kIds.slice(0, 90), max_new_tokens: 10, temperature: 0, hash_logits: true,
  sequence_bias: kIds.slice(1).map((id, i) => [[kIds[i], id], 1000]) };
const kBatch = Array.from({ length: 9 }, (_, i) => i === 4 ? kRest.prompt : idsOf(5 + 3 * i, i));

const kPrompt = "The capital of France is";
const kCommand = { prompt: kPrompt, max_new_tokens: 20, hash_logits: true };

// Returns { name, hash, source, requests } and what load() takes, for each model. The middle one of
// the answers to a request has the hash. `root` is the URL of the repository, and read() returns the
// text at a path below it.
export async function casesOf(root, read) {
  const cases = [];
  for (const [dtype, hash] of Object.entries(kReadme)) {
    cases.push({ name: "README", hash, source: new URL("models/gpt2-stories", root), dtype,
      requests: [kCommand, { ...kCommand, prompt_lookup: true }] });
  }
  for (const [name, hashes] of Object.entries(kOracle)) {
    for (const [i, dtype] of ["stored", "int8", "int4"].entries()) {
      cases.push({ name, hash: hashes[i], source: new URL(`tests/data/oracle/cases/${name}`, root),
        dtype, tokenizer: false, requests: [
          { prompt: [1, 2, 3, 4, 5], max_new_tokens: 8, temperature: 0, hash_logits: true }] });
    }
  }
  const source = randomModel();
  const test = await read("tests/model/one_answer_test.cpp");
  for (const dtype of ["f32", "f16", "bf16", "int8", "int4"]) {
    const keys = dtype.startsWith("int") ? "f16" : "f32";  // the default
    const pin = new RegExp(`WeightType::${dtype}, KVType::${keys}.* 0x(\\w+)`);
    cases.push({ name: "one_answer_test", hash: test.match(pin)[1], source, dtype, tokenizer: false,
      requests: [kRest, { ...kRest, prompt: kBatch }] });
  }
  return cases;
}

// Returns the answers of a case that have other bits, as text.
export async function differences(gpt2, { name, hash, source, requests, ...options }) {
  const model = await gpt2.load(source, options);
  const wrong = [];
  for (const [i, request] of requests.entries()) {
    const answers = await model.generate(request);
    const found = answers[answers.length >> 1].stats.logits_hash;
    if (found !== hash) wrong.push(`${name} ${options.dtype}, request ${i}: ${found}, not ${hash}`);
  }
  model.close();
  return wrong;
}
