// Sends many requests of all kinds at once to gpt2 serve, while some clients leave: every answer
// must be the one that the server gives to a client alone, and nothing of those who left may
// remain.
#include <array>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "support/test.h"
#include "support/test_server.h"

namespace gpt2::test::load_test {

using nlohmann::json;

namespace {

constexpr std::size_t kAtOnce = 32;

// A request, and what the server answers if nobody else asks.
struct Task {
  std::string path;
  json body;
  json answer;
};

// The texts of the choices; of a stream, their parts are joined. Other answers are returned whole.
json contents_of(const HttpResponse& response) {
  if (!response.is_complete) return "the answer is cut";
  std::vector<std::string> texts;
  std::vector<std::string> bodies = {response.body};
  if (response.headers.at("content-type") == "text/event-stream") bodies = response.events();
  for (const std::string& text : bodies) {
    if (text == "[DONE]") continue;
    const json answer = json::parse(text);
    if (!answer.contains("choices")) return answer;
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

std::vector<Task> tasks_for(const TestServer& server) {
  const std::string completions = "/v1/completions";
  const std::vector<std::string> prompts = {"Tom", "Once upon a time", "The cat sat", "One day, a"};
  std::vector<Task> tasks = {
      {completions, {{"prompt", "Tom"}, {"num_beams", 3}, {"n", 2}}, {}},
      {completions, {{"prompt", "A cat"}, {"echo", true}, {"logprobs", 1}, {"max_tokens", 0}}, {}},
      {completions, {{"prompt", "Tom"}, {"n", 0}}, {}},
      {"/v1/embeddings", {{"input", "The cat sat down."}}, {}}};
  for (std::size_t i = 0; i < 8; ++i) {
    tasks.push_back({completions,
                     {{"prompt", prompts[i % 4]}, {"max_tokens", 5 + 5 * i}, {"seed", i}, {"n", 2}},
                     {}});
  }
  for (const char* const line : {"Hello", "Who are you?"}) {
    const json message = {{"role", "user"}, {"content", line}};
    tasks.push_back({"/v1/chat/completions", {{"messages", {message}}, {"max_tokens", 20}}, {}});
  }
  for (Task& task : tasks) task.answer = contents_of(server.post(task.path, task.body));
  const std::size_t count = tasks.size();
  for (std::size_t i = 4; i < count; ++i) {  // the same as streams
    tasks.push_back(tasks[i]);
    tasks.back().body["stream"] = true;
  }
  return tasks;
}

// What the client of a request does.
enum class Client { waits, closes_its_side, leaves_at_once, leaves_after_first_bytes };

std::string serve_one(const TestServer& server, const Task& task, Client client, bool abruptly) {
  HttpClient connection = server.connect();
  connection.send(http_request("POST", task.path, task.body.dump()));
  if (client == Client::closes_its_side) connection.close_sending();
  if (client == Client::waits || client == Client::closes_its_side) {
    const json found = contents_of(connection.receive());
    if (found == task.answer) return "";
    return "expected " + task.answer.dump() + ", found " + found.dump();
  }
  if (client == Client::leaves_after_first_bytes) connection.await("HTTP/1.1 ");
  connection.close(abruptly);
  return "";
}

}  // namespace

TEST_CASE("many clients at once have the answers of one alone, and those who leave cost nothing") {
  const TestServer server;
  const std::vector<Task> tasks = tasks_for(server);
  const std::size_t requests = is_slow() ? 60 : 200;
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::vector<std::string> faults;
  const auto work = [&] {
    for (std::size_t i = next++; i < requests; i = next++) {
      const Task& task = tasks[i % tasks.size()];
      std::mt19937 random(static_cast<unsigned>(i));
      constexpr std::array kClients = {Client::waits, Client::waits, Client::closes_its_side,
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
