// Writes the small vocabulary of the tokenizer tests, tests/data/tokenizer/small/, and the results
// that HuggingFace's tokenizers library gives with variants of it, variants.jsonl.
//
//   npm install @anush008/tokenizers@0.6.0    # tokenizers 0.22.2, built for Node
//   node tools/make_tokenizer_cases.mjs [texts per tokenizer] [output folder]
//
// Each line of variants.jsonl is one tokenizer, {name, patch, cases}. `patch` (RFC 7396) turns
// small/tokenizer.json into this tokenizer. A case is {text, ids, decoded}; "bare": true says that
// the ids do not include the tokens that the post-processor adds.
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';

const {Tokenizer} = createRequire(resolve('package.json'))('@anush008/tokenizers');

const perTokenizer = Number(process.argv[2] ?? 24);
const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[3] ?? join(here, '../tests/data/tokenizer');

// -- The vocabulary: 256 bytes, a few dozen merges, <|endoftext|> --------------------------------

function byteAlphabet() {
  const itself = (b) => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  const bytes = [...Array(256).keys()];
  const standIns = bytes.filter((b) => !itself(b));
  return [...bytes.filter(itself), ...standIns.map((_, i) => 256 + i)].map((c) =>
      String.fromCodePoint(c));
}

// These merges compete with each other: they have shared parts, runs of one letter, spaces and
// parts of UTF-8 characters. For some of them the order matters: "b a" comes before "a b", so that
// "aba" and "abab" show whether an encoder follows the order.
const merges = `Ġ t|h e|Ġt he|i n|e r|Ġ a|r e|o n|a n|Ġ s|b a|a b|ab ab|a a|aa aa|aaaa aaaa|Ġ Ġ|ĠĠ ĠĠ
|Ċ Ċ|l l|' s|' ll|1 2|12 3|0 0|00 00|in g|Ġa n|Ġan d|Ġ w|Ġw as|a s|Ġ o|Ġo f|Ġ Ċ|Ã ©|Ã ¤|Å Ł|ð Ł|ðŁ ĺ
|ðŁĺ Ģ|ä ¸|ä¸ Ń|. .|.. ..|! !|Ġ "|< |t h|th er|o u|Ġ y|Ġy ou|e n|d Ġ|o r|w or|Ġwor l|Ġwor ld|l d`
    .replaceAll('\n', '').split('|').filter((m) => m.split(' ').every((p) => p !== ''))
    .filter((m) => m.includes(' '));

function smallTokenizer() {
  const vocab = Object.fromEntries(byteAlphabet().map((c, i) => [c, i]));
  const used = [];
  for (const merge of merges) {
    const [left, right] = merge.split(' ');
    if (!(left in vocab) || !(right in vocab) || left + right in vocab) continue;
    vocab[left + right] = Object.keys(vocab).length;
    used.push(merge);
  }
  const eot = Object.keys(vocab).length;
  vocab['<|endoftext|>'] = eot;
  const byteLevel = {type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true};
  return {
    version: '1.0', truncation: null, padding: null, added_tokens: [added(eot, '<|endoftext|>', {special: true})],
    normalizer: null, pre_tokenizer: byteLevel, post_processor: byteLevel, decoder: byteLevel,
    model: {
      type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: '',
      end_of_word_suffix: '', fuse_unk: false, byte_fallback: false, ignore_merges: false, vocab,
      merges: used,
    },
  };
}

function added(id, content, flags = {}) {
  return {id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: false, ...flags};
}

// -- Variants: every feature of tokenizer.json that a GPT-2 uses ---------------------------------

function variants(base) {
  const eot = base.model.vocab['<|endoftext|>'];
  const n = eot + 1;
  const list = (...tokens) => ({added_tokens: [added(eot, '<|endoftext|>', {special: true}), ...tokens]});
  const level = base.pre_tokenizer;
  const template = (single, special_tokens) => ({type: 'TemplateProcessing', single, pair: [], special_tokens});
  const text = {Sequence: {id: 'A', type_id: 0}};
  const token = (id) => ({SpecialToken: {id, type_id: 0}});
  const specials = (...names) => Object.fromEntries(names.map((name) => [name, {id: name, ids: [base.model.vocab[name]], tokens: [name]}]));
  const pairs = base.model.merges.map((m) => m.split(' '));
  const without = (letters) => {
    const isGone = (t) => t !== '<|endoftext|>' && [...letters].some((c) => t.includes(c));
    const gone = Object.keys(base.model.vocab).filter(isGone);
    return {vocab: Object.fromEntries(gone.map((t) => [t, null])), merges: base.model.merges.filter((m) => !isGone(m))};
  };
  return [
    ['as it is', {}],
    ['merges as pairs', {model: {merges: pairs}}],
    ['no model type', {model: {type: null}}],
    ['ignore_merges', {model: {ignore_merges: true, vocab: {hello: n, 'Ġhello': n + 1, 'Ġzzz': n + 2}}}],
    ['a merge listed twice', {model: {merges: [...base.model.merges, base.model.merges[10]]}}],
    ['add_prefix_space', {pre_tokenizer: {add_prefix_space: true}, ...list(added(n, '[x]'))}],
    ['no regex', {pre_tokenizer: {use_regex: false}}],
    ['no regex, add_prefix_space', {pre_tokenizer: {use_regex: false, add_prefix_space: true}}],
    ['sequence', {pre_tokenizer: null}, (t) => { t.pre_tokenizer = {type: 'Sequence', pretokenizers: [{...level}]}; }],
    ['bos', {post_processor: null}, (t) => { t.post_processor = template([token('<|endoftext|>'), text], specials('<|endoftext|>')); }],
    ['bos and eos in a sequence', {post_processor: null}, (t) => {
      t.post_processor = {type: 'Sequence', processors: [{...level}, template([token('<|endoftext|>'), text, token('!'), token('<|endoftext|>')], specials('<|endoftext|>', '!'))]};
    }],
    ['unk', {model: {unk_token: '!', ...without('ehĠ')}}],
    ['unk, fused', {model: {unk_token: '!', fuse_unk: true, ...without('ehĠ')}}],
    ['bytes without a token', {model: without('ehĠ')}],
    ['plain added tokens', list(added(n, '[x]'), added(n + 1, '[x][y]'), added(n + 2, '[y]'), added(n + 3, 'and'), added(n + 4, 'the world'))],
    ['longest first, then the next', list(added(n, 'ab a'), added(n + 1, 'abc'), added(n + 2, 'bcd'), added(n + 3, 'bcdefg'), added(n + 4, 'cd'), added(n + 5, 'cdx'), added(n + 6, 'aab'))],
    ['normalized ones come second', list(added(n, '[x][y]', {normalized: true}), added(n + 1, '[y]'), added(n + 2, 'the', {normalized: true}), added(n + 3, 'he w'))],
    ['lstrip', list(added(n, '[x]', {lstrip: true}), added(n + 1, '[y]', {lstrip: true, normalized: true}))],
    ['rstrip', list(added(n, '[x]', {rstrip: true}), added(n + 1, '[y]', {rstrip: true, normalized: true}))],
    ['both strips', list(added(n, '[x]', {lstrip: true, rstrip: true}), added(n + 1, '[y]', {lstrip: true, rstrip: true}))],
    ['single_word', list(added(n, '[x]', {single_word: true}), added(n + 1, 'the', {single_word: true, normalized: true}))],
    ['single_word and strips', list(added(n, 'the', {single_word: true, lstrip: true, rstrip: true}), added(n + 1, '[x]', {single_word: true, lstrip: true}))],
    ['white space as tokens', list(added(n, '  '), added(n + 1, '\n'), added(n + 2, ' [x]'), added(n + 3, '\u00a0'))],
    ['strips beside white space as tokens', list(added(n, '[x]', {rstrip: true}), added(n + 1, ' '), added(n + 2, '[y]', {lstrip: true}), added(n + 3, '\n'))],
    ['added tokens that the vocabulary has', list(added(base.model.vocab['he'], 'he'), added(base.model.vocab['Ġt'], 'Ġt'), added(base.model.vocab['..'], '..', {special: true, normalized: true}))],
    ['special tokens', list(added(n, '<|pad|>', {special: true}), added(n + 1, '<|sep|>', {special: true, lstrip: true}), added(n + 2, '日本', {special: true}))],
  ].map(([name, patch, edit]) => ({name, patch, edit}));
}

// -- Texts: random sequences of difficult pieces, from a seeded generator -------------------------

function makeRandom(seed) {
  let state = seed >>> 0;
  return (n) => {  // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

const pieces = [
  ' ', ' ', ' ', '  ', '    ', '\n', '\n\n', '\t', '\r\n', '\u00a0', '\u3000', '\u2028', '\u0085', '\u200b', '\x1c', '\0',
  'the', 'a', 'aa', 'aaa', 'ab', 'aba', 'abab', 'b', 'abc', 'abcdefg', 'abcd', 'bcdx', 'he w', 'an', 'and', 'hello', 'zzz', 'the world', 'other', 'Hello', 'THE', 'of', 'was', 'you',
  "'s", "'ll", "'t", "'re", "'S", "'", "''", '12', '123', '0000', '1', '²', '½', 'Ⅷ', '٣',
  '.', '..', '....', '!!', '"', ',', '-', '_', '<', '<|endoftext|>', '<|endof', '<|pad|>', '<|sep|>', '[x]', '[y]', '[x', ']', 'Ġt', 'Ċ',
  'é', 'e\u0301', 'ä', 'ß', 'ş', 'Ω', 'я', '中', '日本', '日', '한', '😀', '👍🏽', '\u200d', 'ﷺ', '𝒳', 'ⓐ', '\u{10ffff}', '\ufeff', '\ufffd',
];

const fixed = ['', ' ', 'a', 'Hello world', 'the other<|endoftext|>', '<|endoftext|><|endoftext|>', ' [x] [y] ', '[x]  [y]', 'a[x]b the [x]', '_[x]', '[x]_', 'é[x]', '\u0301[x] ⓐ[x] \u200d[x] ½[x] ²[x]', 'a'.repeat(100), ' '.repeat(33), 'ab'.repeat(40), 'ba'.repeat(41)];

function makeTexts(count, random) {
  const texts = [...fixed];
  while (texts.length < count + fixed.length) {
    let text = '';
    for (let left = 1 + random(12); left > 0; --left) text += pieces[random(pieces.length)];
    texts.push(text);
  }
  return texts;
}

// -- Putting it together --------------------------------------------------------------------------

function merge(target, patch) {  // RFC 7396
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch;
  const result = target !== null && typeof target === 'object' && !Array.isArray(target) ? {...target} : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  }
  return result;
}

const copy = (value) => JSON.parse(JSON.stringify(value));

async function casesOf(tokenizer, texts) {
  const cases = [];
  const bare = Tokenizer.fromString(JSON.stringify(tokenizer));
  for (const text of texts) {
    const ids = (await bare.encode(text)).getIds();
    cases.push({text, ids, decoded: await bare.decode(ids, false)});
    const bareIds = (await bare.encode(text, null, {addSpecialTokens: false})).getIds();
    if (bareIds.length !== ids.length) cases.push({text, ids: bareIds, bare: true});
  }
  return cases;
}

// Returns the changes that `patch` and `edit` make as one patch. A pre_tokenizer or post_processor
// that differs from the base is replaced as a whole.
function patchOf(base, patch, edit) {
  if (!edit) return patch;
  const edited = merge(base, patch);
  edit(edited);
  const result = copy(patch);
  for (const key of ['pre_tokenizer', 'post_processor']) {
    if (JSON.stringify(edited[key]) === JSON.stringify(base[key])) continue;
    const gone = Object.fromEntries(Object.keys(base[key]).map((k) => [k, null]));
    result[key] = {...gone, ...edited[key]};
  }
  return result;
}

const base = smallTokenizer();
mkdirSync(join(out, 'small'), {recursive: true});
writeFileSync(join(out, 'small/vocab.json'), JSON.stringify(base.model.vocab));
writeFileSync(join(out, 'small/merges.txt'), ['#version: 0.2', ...base.model.merges, ''].join('\n'));
writeFileSync(join(out, 'small/tokenizer.json'), JSON.stringify(base));

const lines = [];
for (const [i, {name, patch, edit}] of variants(base).entries()) {
  const finalPatch = patchOf(base, patch, edit);
  const texts = makeTexts(perTokenizer, makeRandom(1000 + i));
  lines.push(JSON.stringify({name, patch: finalPatch, cases: await casesOf(merge(base, finalPatch), texts)}));
}
writeFileSync(join(out, 'variants.jsonl'), lines.join('\n') + '\n');
console.log(`${lines.length} tokenizers in ${out}`);
