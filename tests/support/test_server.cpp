#include "support/test_server.h"

#include <poll.h>

#include <chrono>
#include <stdexcept>

namespace gpt2::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kMaxWait{2};

Words serve_arguments(const Words& options) {
  Words words = {"serve"};
  if (std::ranges::count(options, "--port") == 0) words.insert(words.end(), {"--port", "0"});
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

}  // namespace

TestServer::TestServer(const Words& options, const Surroundings& surroundings)
    : command(serve_arguments(options), surroundings) {
  while (!command.out.ends_with('\n')) {
    const std::size_t before = command.out.size();
    command.read(before + 1);
    if (command.out.size() > before) continue;
    command.wait();
    throw std::runtime_error("gpt2 serve has ended: " + command.err);
  }
  url_ = command.out.substr(0, command.out.size() - 1);
}

HttpResponse TestServer::get(std::string_view path) const {
  return connect().ask(http_request("GET", path));
}

HttpResponse TestServer::post(std::string_view path, const nlohmann::json& body) const {
  return connect().ask(http_request("POST", path, body.dump()));
}

double TestServer::metric(const std::string& name) const {
  std::istringstream lines(get("/metrics").body);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + ' ')) return std::stod(line.substr(name.size() + 1));
  }
  return 0.0;
}

void TestServer::await_metric(const std::string& name, double value) const {
  const Clock::time_point end = Clock::now() + kMaxWait;
  for (double found = metric(name); found != value; found = metric(name)) {
    if (Clock::now() > end) throw std::runtime_error(name + " stays " + std::to_string(found));
    poll(nullptr, 0, /*milliseconds=*/10);
  }
}

void TestServer::await_idle() const {
  for (const char* const name : {"gpt2_requests_open", "gpt2_texts_waiting", "gpt2_batch_size"}) {
    await_metric(name, 0);
  }
}

std::vector<nlohmann::json> generated(const std::string& prompt, const Words& options) {
  const auto has = [&](const char* option) { return std::ranges::count(options, option) != 0; };
  Words words = {"--json"};
  if (!has("-n")) words.insert(words.end(), {"-n", "16"});
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"-p", prompt});
  const Outcome outcome = run(words);
  if (outcome.status != 0) throw std::runtime_error("gpt2 generate failed: " + outcome.err);
  return json_lines(outcome.out);
}

}  // namespace gpt2::test
