// Sends many requests of all kinds at once to gpt2 serve, while some clients leave: every answer
// must be the one that the command gives, and nothing of those who left may remain.
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/is_slow.h"
#include "support/test_server.h"

namespace gpt2::test::load_test {

using nlohmann::json;

namespace {

constexpr std::size_t kAtOnce = 32;

// A request, and a function that returns what is wrong with its answer, or "".
struct Task {
  std::string path;
  json body;
  std::function<std::string(const HttpResponse&)> fault;
};

std::string difference(const json& found, const json& expected) {
  return found == expected ? "" : "expected " + expected.dump() + ", found " + found.dump();
}

// The texts of the choices; of a stream, their parts are joined.
std::vector<std::string> texts_of(const HttpResponse& response) {
  std::vector<std::string> texts;
  std::vector<std::string> bodies = {response.body};
  if (response.headers.at("content-type") == "text/event-stream") bodies = response.events();
  for (const std::string& text : bodies) {
    if (text == "[DONE]") continue;
    const json answer = json::parse(text);
    for (const json& choice : answer["choices"]) {
      texts.resize(std::max(texts.size(), choice["index"].get<std::size_t>() + 1));
      std::string& whole = texts[choice["index"]];
      if (choice.contains("text")) whole += choice["text"].get<std::string>();
      if (choice.contains("delta")) whole += choice["delta"].value("content", "");
      if (choice.contains("message")) whole += choice["message"]["content"].get<std::string>();
    }
  }
  return texts;
}

Task writes(const std::string& path, const json& body, const std::vector<std::string>& texts) {
  return {path, body, [texts](const HttpResponse& response) {
            if (!response.is_complete) return std::string("the answer is cut");
            if (response.status != 200) return response.body;
            return difference(texts_of(response), texts);
          }};
}

std::vector<std::string> texts_of(const std::vector<json>& written) {
  std::vector<std::string> texts;
  for (const json& one : written) texts.push_back(one["text"]);
  return texts;
}

void add_completions(std::vector<Task>& tasks) {
  const std::string path = "/v1/completions";
  const std::vector<std::string> prompts = {"Tom", "Once upon a time", "The cat sat", "One day, a"};
  for (std::size_t i = 0; i < 8; ++i) {
    const std::string& prompt = prompts[i % 4];
    const std::string length = std::to_string(10 + 15 * i), seed = std::to_string(i);
    const auto texts =
        texts_of(generated(prompt, {"--samples", "2", "-n", length, "--seed", seed}));
    json body = {{"prompt", prompt}, {"max_tokens", 10 + 15 * i}, {"seed", i}, {"n", 2}};
    tasks.push_back(writes(path, body, texts));
    body["stream"] = true;
    tasks.push_back(writes(path, body, texts));
  }
  tasks.push_back(
      writes(path, {{"prompt", "Tom"}, {"num_beams", 3}, {"n", 2}},
             texts_of(generated("Tom", {"--num-beams", "3", "--num-return-sequences", "2"}))));
  const std::string text = "The cat sat on the mat.";
  tasks.push_back(
      writes(path, {{"prompt", text}, {"echo", true}, {"logprobs", 1}, {"max_tokens", 0}}, {text}));
}

void add_others(std::vector<Task>& tasks) {
  for (const char* const line : {"Hello", "Who are you?"}) {
    const json written = generated(std::string("User: ") + line + "\nAssistant:",
                                   {"--stop", "\nUser:", "-n", "40"})[0];
    std::string text = written["text"];
    if (text.starts_with(' ')) text.erase(0, 1);
    for (const bool stream : {false, true}) {
      tasks.push_back(writes("/v1/chat/completions",
                             {{"messages", {{{"role", "user"}, {"content", line}}}},
                              {"max_tokens", 40},
                              {"stream", stream}},
                             {text}));
    }
  }
  const json embedded = json::parse(run({"embed"}, {.input = "The cat sat down.\n"}).out);
  const auto vector = embedded["embedding"].get<std::vector<double>>();
  tasks.push_back(
      {"/v1/embeddings", {{"input", "The cat sat down."}}, [vector](const HttpResponse& response) {
         const json body = response.json();
         const json& found = body["data"][0]["embedding"];
         // The directions are the same if the ratios of the elements are.
         for (std::size_t i = 1; i < vector.size(); ++i) {
           const double left = found[i].get<double>() * vector[0];
           const double right = found[0].get<double>() * vector[i];
           if (std::abs(left - right) > 1e-6) return "element " + std::to_string(i);
         }
         return std::string();
       }});
  tasks.push_back({"/v1/completions",
                   {{"prompt", "Tom"}, {"n", 0}},
                   [](const HttpResponse& response) { return difference(response.status, 400); }});
}

// What the client of a request does.
enum class Client { waits, leaves_at_once, leaves_after_first_bytes };

std::string serve_one(const TestServer& server, const Task& task, Client client, bool abruptly) {
  HttpClient connection = server.connect();
  connection.send(http_request("POST", task.path, task.body.dump()));
  if (client == Client::waits) return task.fault(connection.receive());
  if (client == Client::leaves_after_first_bytes) connection.await("HTTP/1.1 ");
  connection.close(abruptly);
  return "";
}

}  // namespace

TEST_CASE("many clients at once have the command's answers, and those who leave cost nothing") {
  std::vector<Task> tasks;
  add_completions(tasks);
  add_others(tasks);
  const TestServer server;
  const std::size_t requests = is_slow() ? 60 : 200;
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::vector<std::string> faults;
  const auto work = [&] {
    for (std::size_t i = next++; i < requests; i = next++) {
      const Task& task = tasks[i % tasks.size()];
      std::mt19937 random(static_cast<unsigned>(i));
      constexpr std::array kClients = {Client::waits, Client::waits, Client::waits,
                                       Client::leaves_at_once, Client::leaves_after_first_bytes};
      std::string fault;
      try {
        fault = serve_one(server, task, kClients[random() % kClients.size()], random() % 2 == 0);
      } catch (const std::exception& error) {
        fault = error.what();
      }
      const std::lock_guard lock(mutex);
      if (!fault.empty()) faults.push_back(task.path + " " + task.body.dump() + ": " + fault);
    }
  };
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < kAtOnce; ++i) clients.emplace_back(work);
  for (std::thread& client : clients) client.join();
  CHECK(faults == std::vector<std::string>());
  server.await_idle();
  server.await_metric("gpt2_connections", 1);  // the one that asks
  CHECK(server.metric("gpt2_kv_bytes") == 0);
}

}  // namespace gpt2::test::load_test
