// Uses gpt2 serve as programs do: with npm's package openai.
//
//   node openai_client.mjs GPT2 MODEL
//
// GPT2 is the command and MODEL the folder of a model. The package must be installed in a folder
// above this file.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import OpenAI from "openai";

const [gpt2, model] = process.argv.slice(2);
const PROMPT = "Once upon a time";
const ENDLESS = { model: "m", prompt: "a", max_tokens: 1e9, overflow: "slide", ignore_eos: true };
const options = { timeout: 120_000 };

// Starts a server, and returns {process, client(more)}.
async function serve(...args) {
  const child = spawn(gpt2, ["serve", "-m", `m=${model}`, "--port", "0", ...args],
                      { stdio: ["ignore", "pipe", "ignore"] });
  const [url] = await new Promise((done, fail) => {
    createInterface(child.stdout).once("line", (line) => done([line]));
    child.once("exit", (code) => fail(new Error(`gpt2 serve has ended: ${code}`)));
  });
  const client = (more = {}) =>
    new OpenAI({ baseURL: `${url}/v1`, apiKey: "k", maxRetries: 0, ...more });
  return { process: child, url, client };
}

// What gpt2 generate writes.
function generated(prompt, ...args) {
  const words = ["generate", "-m", model, "--json", ...args];
  const lines = execFileSync(gpt2, [...words, "-p", prompt], { encoding: "utf8" }).trim();
  return lines.split("\n").map((line) => JSON.parse(line));
}

const withoutSpace = (text) => text.replace(/^ /, "");

let server;
let client;
before(async () => {
  server = await serve();
  client = server.client();
});
after(() => server.process.kill());

test("completions, whole and as a stream", options, async () => {
  const written = generated(PROMPT, "-n", "20", "--samples", "2", "--seed", "5", "--logprobs", "2");
  const request = { model: "m", prompt: PROMPT, max_tokens: 20, n: 2, seed: 5, logprobs: 2 };
  const whole = await client.completions.create(request);
  assert.deepEqual(whole.choices.map((choice) => choice.text), written.map((one) => one.text));
  assert.deepEqual(whole.choices.map((choice) => choice.logprobs.token_logprobs),
                   written.map((one) => one.logprobs.map((score) => score.logprob)));
  assert.equal(whole.usage.completion_tokens, 40);
  const texts = ["", ""];
  const reasons = [null, null];
  for await (const part of await client.completions.create({ ...request, stream: true })) {
    for (const choice of part.choices) {
      texts[choice.index] += choice.text;
      reasons[choice.index] ??= choice.finish_reason;
    }
  }
  assert.deepEqual(texts, written.map((one) => one.text));
  assert.deepEqual(reasons, ["length", "length"]);
});

test("chat, whole and as a stream", options, async () => {
  const [written] = generated("Be kind.\n\nUser: Hello\nAssistant:", "-n", "20", "--stop", "\nUser:");
  const request = {
    model: "m",
    messages: [{ role: "system", content: "Be kind." }, { role: "user", content: "Hello" }],
    max_completion_tokens: 20,
  };
  const whole = await client.chat.completions.create({ ...request, logprobs: true, top_logprobs: 2 });
  assert.equal(whole.choices[0].message.content, withoutSpace(written.text));
  assert.equal(whole.choices[0].message.role, "assistant");
  assert.equal(whole.choices[0].logprobs.content.length, written.token_ids.length);
  assert.equal(whole.choices[0].logprobs.content[0].top_logprobs.length, 2);
  const stream = client.chat.completions.stream({ ...request, stream_options: { include_usage: true } });
  let text = "";
  stream.on("content", (piece) => (text += piece));
  const final = await stream.finalChatCompletion();
  assert.equal(text, withoutSpace(written.text));
  assert.equal(final.choices[0].message.content, text);
  assert.equal(final.choices[0].finish_reason, whole.choices[0].finish_reason);
  assert.deepEqual(await stream.totalUsage(), whole.usage);
});

test("responses, whole and as a stream", options, async () => {
  const request = { model: "m", input: "Hello", instructions: "Be kind.", max_output_tokens: 20 };
  const [written] = generated("Be kind.\n\nUser: Hello\nAssistant:", "-n", "20", "--stop", "\nUser:");
  const whole = await client.responses.create(request);
  assert.equal(whole.output_text, withoutSpace(written.text));
  const stream = client.responses.stream(request);
  let text = "";
  stream.on("response.output_text.delta", (event) => (text += event.delta));
  const final = await stream.finalResponse();
  assert.equal(text, whole.output_text);
  assert.equal(final.output_text, text);
  assert.deepEqual(final.usage, whole.usage);
});

test("embeddings, which the package asks for in base64", options, async () => {
  const request = { model: "m", input: ["The cat sat down.", "One day"] };
  const found = await client.embeddings.create(request);
  const floats = await client.embeddings.create({ ...request, encoding_format: "float" });
  assert.equal(found.data.length, 2);
  found.data.forEach((one, i) => {
    const expected = floats.data[i].embedding;
    assert.deepEqual(Array.from(one.embedding), expected.map((number) => Math.fround(number)));
    const square = expected.reduce((sum, number) => sum + number * number, 0);
    assert.ok(Math.abs(square - 1) < 1e-5);
  });
});

test("errors have the classes of their status", options, async () => {
  const request = { model: "m", prompt: "a", max_tokens: 1 };
  const create = (more, of = client) => of.completions.create({ ...request, ...more });
  await assert.rejects(create({ temperature: -1 }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.status, 400);
    assert.equal(error.type, "invalid_request_error");
    assert.match(error.message, /temperature: expected/);
    return true;
  });
  await assert.rejects(create({ model: "other" }), (error) => {
    assert.ok(error instanceof OpenAI.NotFoundError);
    assert.equal(error.code, "model_not_found");
    return true;
  });
  await assert.rejects(create({ prompt: "a ".repeat(9_000_000) }), { status: 413 });
  const page = server.client({ defaultHeaders: { Origin: "http://evil.example" } });
  await assert.rejects(create({}, page), OpenAI.PermissionDeniedError);
  const keyed = await serve("--api-key", "right");
  try {
    await assert.rejects(create({}, keyed.client()), OpenAI.AuthenticationError);
    await create({}, keyed.client({ apiKey: "right" }));
  } finally {
    keyed.process.kill();
  }
});

test("while the server is busy, the package tries again", options, async () => {
  const busy = await serve("--max-requests", "1");
  try {
    const holder = await busy.client().completions.create({ ...ENDLESS, stream: true });
    await assert.rejects(busy.client().completions.create({ model: "m", prompt: "a" }),
                         (error) => error instanceof OpenAI.InternalServerError && error.status === 503);
    const statuses = [];
    const patient = busy.client({
      maxRetries: 20,
      fetch: async (...args) => {
        const response = await fetch(...args);
        statuses.push(response.status);
        holder.controller.abort();
        return response;
      },
    });
    await patient.completions.create({ model: "m", prompt: "a", max_tokens: 1 });
    assert.equal(statuses[0], 503);
    assert.equal(statuses.at(-1), 200);
  } finally {
    busy.process.kill();
  }
});
