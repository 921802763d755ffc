// Requests to the server.

function headers() {
  const key = sessionStorage.getItem("gpt2_key");
  return { "Content-Type": "application/json", ...(key ? { Authorization: "Bearer " + key } : {}) };
}

// Sends a request; a body is the text of a JSON object. Throws Refusal if the server refuses it.
async function ask(path, body, signal) {
  let answer;
  try {
    answer = await fetch(path, { method: body ? "POST" : "GET", headers: headers(), body, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("The server cannot be reached. Does gpt2 serve still run?", 0);
  }
  if (answer.ok) return answer;
  const text = await answer.text();
  let message = `The server answered with status ${answer.status}.`;
  try {
    message = sentence(JSON.parse(text).error.message);
  } catch { /* a proxy may have answered */ }
  throw new Refusal(message, answer.status);
}

const askJson = async (path, body, signal) => (await ask(path, body, signal)).json();
const askPage = async (path, body) => (await ask(path, body)).blob();

// Sends a request whose answer is a stream and calls take(event) for each event. A request that
// does not ask for a stream gives one event.
async function askStream(path, body, signal, take) {
  const answer = await ask(path, body, signal);
  if (!answer.headers.get("Content-Type").startsWith("text/event-stream")) {
    return take(await answer.json());
  }
  for await (const data of eventsOf(answer)) {
    if (data === "[DONE]") return;
    const event = JSON.parse(data);
    if (event.error) throw new Refusal(sentence(event.error.message), 200);
    take(event);
  }
  throw new Refusal("The server ended the answer before the text was complete.", 0);
}

async function* eventsOf(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let buffer = ""; ;) {
    const { done, value } = await nextOf(reader);
    if (done) return;
    const events = (buffer + value).split("\n\n");
    buffer = events.pop();
    for (const event of events) if (event.startsWith("data: ")) yield event.slice(6);
  }
}

async function nextOf(reader) {
  try {
    return await reader.read();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("The connection to the server broke. The text so far is kept.", 0);
  }
}
