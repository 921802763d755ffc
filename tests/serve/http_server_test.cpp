// Tests how much memory the clients of an HttpServer together can take.
#include "serve/http_server.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "serve/listener.h"
#include "support/http_client.h"
#include "support/test.h"

namespace gpt2::test::http_server_test {

using namespace std::chrono_literals;

namespace {

// A server that answers each request with `answer_size` bytes.
class Running {
 public:
  Running(const serve::HttpLimits& limits, std::size_t answer_size)
      : listener_({.port = 0}),
        server_(
            listener_.descriptor(), limits, [](const auto&) { return std::nullopt; },
            [answer_size](const auto&, const auto& reply) {
              reply->send({.body = std::string(answer_size, 'x')});
            }),
        thread_([this] {
          while (!ends_) server_.run(20ms);
        }) {}

  ~Running() {
    ends_ = true;
    thread_.join();
  }

  [[nodiscard]] HttpClient connect() const { return HttpClient(listener_.url(), 4096); }

 private:
  serve::Listener listener_;
  serve::HttpServer server_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace

TEST_CASE("clients that leave too much unread are cut off, and the others get their answers") {
  constexpr std::size_t kAnswer = 16 << 20;  // more than the buffers of the system
  const Running server({.max_unread = 40 << 20}, kAnswer);
  std::vector<HttpClient> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(server.connect());
    clients.back().send(http_request("GET", "/"));
  }
  std::this_thread::sleep_for(1s);  // many sweeps
  std::size_t complete = 0;
  for (HttpClient& client : clients) {
    const HttpResponse response = client.receive();
    complete += response.is_complete && response.body == std::string(kAnswer, 'x');
  }
  CHECK(complete >= 2);
  CHECK(complete <= 3);
  CHECK(server.connect().ask(http_request("GET", "/")).is_complete);
}

TEST_CASE("bodies that together would take too much are refused") {
  const Running server({.max_body = 1 << 20, .max_received = 1 << 20}, 10);
  const std::string request = http_request("POST", "/", std::string(700'000, 'x'));
  const auto begin = [&](HttpClient& client) {
    client.send(request.substr(0, 600'000));
    std::this_thread::sleep_for(300ms);
  };
  HttpClient first = server.connect();
  HttpClient second = server.connect();
  HttpClient leaver = server.connect();
  begin(first);
  begin(second);
  const HttpResponse refused = second.ask(request.substr(600'000));
  CHECK(refused.status == 503);
  CHECK(refused.headers.at("retry-after") == "1");
  CHECK(first.ask(request.substr(600'000)).status == 200);
  // Whatever is complete, refused or left makes room.
  begin(leaver);
  leaver.close();
  for (int i = 0; i < 3; ++i) {
    begin(second);
    CHECK(second.ask(request.substr(600'000)).status == 200);
  }
}

TEST_CASE("a body as long as max_body is accepted, even if max_received is less") {
  const Running server({.max_body = 2 << 20, .max_received = 1 << 20}, 10);
  const std::string request = http_request("POST", "/", std::string(2 << 20, 'x'));
  for (int i = 0; i < 2; ++i) CHECK(server.connect().ask(request).status == 200);
}

}  // namespace gpt2::test::http_server_test
