// Tests the sockets of gpt2 serve, and how it ends.
#include <signal.h>

#include <chrono>
#include <tuple>

#include "serve/answers.h"

namespace gpt2::test::ending_test {

namespace {

// A request for a text that takes a while, but ends.
std::string long_text(bool stream, const json& more = json::object()) {
  const json body = {{"prompt", "a"},    {"max_tokens", 3000}, {"overflow", "slide"},
                     {"temperature", 0}, {"ignore_eos", true}, {"stream", stream}};
  return http_request("POST", "/v1/completions", with(body, more).dump());
}

bool is_refused(const TestServer& server) {
  try {
    const HttpClient client = server.connect();
    return false;
  } catch (const std::runtime_error&) {
    return true;
  }
}

// Ends a server. Returns whether it has said that it is open to other machines.
bool has_warned(Command& server) {
  server.send(SIGTERM);
  CHECK(server.wait() == 0);
  return server.err.find("every program that reaches this machine may use") != std::string::npos;
}

}  // namespace

TEST_CASE("an idle server ends at SIGTERM and at SIGINT, with status 0") {
  for (const int signal : {SIGTERM, SIGINT}) {
    TestServer server(alphabet());
    HttpClient idle = server.connect();
    check_normal(idle.ask(kNormalRequest));
    server.command.send(signal);
    CHECK(idle.await_end() == "");
    CHECK(server.command.wait() == 0);
    CHECK(server.command.err == "gpt2: serving 1 model; Ctrl-C or SIGTERM ends it\n");
  }
}

TEST_CASE("a second signal, whichever it is, ends the server at once") {
  for (const int second : {SIGTERM, SIGINT}) {
    TestServer server(alphabet());
    HttpClient idle = server.connect(), stream = server.connect();
    stream.send(endless(true));
    stream.await("data: ");
    server.command.send(SIGTERM);
    HttpResponse health = idle.ask(http_request("GET", "/health"));
    while (health.status == 200) health = idle.ask(http_request("GET", "/health"));
    server.command.send(second);
    CHECK(server.command.wait() == -second);
  }
}

TEST_CASE("a request that has not arrived does not hold up the end") {
  TestServer server(alphabet());
  HttpClient half = server.connect();
  half.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
  check_normal(server.connect().ask(kNormalRequest));
  const auto start = std::chrono::steady_clock::now();
  server.command.send(SIGTERM);
  CHECK(server.command.wait() == 0);
  CHECK(std::chrono::steady_clock::now() - start <
        std::chrono::seconds(25));  // not the 30 s of grace
}

TEST_CASE("at SIGTERM, running requests are answered and new ones refused") {
  TestServer server(alphabet());
  const std::string text = server.connect().ask(long_text(false)).json()["choices"][0]["text"];
  HttpClient kept = server.connect();
  CHECK(kept.ask(http_request("GET", "/health")).json()["status"] == "ok");
  HttpClient whole = server.connect(), stream = server.connect();
  whole.send(long_text(false));
  stream.send(long_text(true));
  stream.await("data: ");
  server.await_metric("gpt2_batch_size", 2);
  server.command.send(SIGTERM);
  // A connection that was open before learns that the server ends. The signal may come late.
  HttpResponse health = kept.ask(http_request("GET", "/health"));
  while (health.status == 200) health = kept.ask(http_request("GET", "/health"));
  CHECK(health.status == 503);
  CHECK(health.json() == json{{"status", "ending"}});
  const HttpResponse late = kept.ask(kNormalRequest);
  CHECK(late.status == 503);
  CHECK(late.headers.contains("retry-after"));
  CHECK(is_refused(server));
  const HttpResponse answer = whole.receive();
  CHECK(answer.status == 200);
  CHECK(answer.json()["choices"][0]["text"] == text);
  CHECK(streamed_text(stream.receive()) == text);
  CHECK(server.command.wait() == 0);
}

TEST_CASE("what is not answered within --grace ends with an error, in a stream with an event") {
  TestServer server(alphabet({"--grace", "1"}));
  HttpClient whole = server.connect(), stream = server.connect(), idle = server.connect();
  whole.send(endless(false));
  stream.send(endless(true));
  stream.await("data: ");
  server.await_metric("gpt2_batch_size", 2);
  server.command.send(SIGTERM);
  const HttpResponse answer = whole.receive();
  CHECK(answer.status == 503);
  CHECK(check_error(answer.json()).find("send the request again") != std::string::npos);
  const HttpResponse streamed = stream.receive();
  CHECK(streamed.status == 200);
  CHECK(streamed.is_complete);
  const json last = json::parse(streamed.events().back());
  CHECK(check_error(last).find("send the request again") != std::string::npos);
  CHECK(last["error"]["type"] == "server_error");
  CHECK(server.command.wait() == 1);
  CHECK(server.command.err.find("ended with 2 requests without a complete answer") !=
        std::string::npos);
}

TEST_CASE("an answer that its client does not read within --grace is cut off, with status 1") {
  TestServer server(alphabet({"--grace", "1"}));
  HttpClient slow(server.url(), /*receive_buffer=*/4096);
  const json body = {{"prompt", std::vector<std::string>(10, std::string(1000, 'a'))},
                     {"echo", true},
                     {"logprobs", 100},
                     {"max_tokens", 0}};  // some 20 MB, more than the buffers of the system
  slow.send(http_request("POST", "/v1/completions", body.dump()));
  server.await_metric("gpt2_requests_total{path=\"/v1/completions\",status=\"200\"}", 1);
  server.command.send(SIGTERM);
  CHECK(server.command.wait() == 1);
  CHECK(server.command.err.find("ended with 1 request without a complete answer") !=
        std::string::npos);
  CHECK_FALSE(slow.receive().is_complete);
}

TEST_CASE("what takes passes of its own is cut off while it runs and while it waits for others") {
  for (const std::string& request : requests_with_own_passes()) {
    CAPTURE(request.substr(0, 300));
    TestServer server(alphabet({"--grace", "0"}));
    HttpClient first = server.connect(), second = server.connect(), echo = server.connect();
    first.send(request);
    server.await_metric("gpt2_requests_open", 1);
    second.send(request);
    server.await_metric("gpt2_requests_open", 2);
    echo.send(long_text(/*stream=*/true, {{"prompt", "once"}, {"echo", true}}));
    echo.await("data: ");
    server.command.send(SIGTERM);
    for (HttpClient* const client : {&first, &second}) {
      const HttpResponse answer = client->receive();
      CHECK(answer.status == 503);
      CHECK(check_error(answer.json()).find("send the request again") != std::string::npos);
    }
    const std::vector<std::string> events = echo.receive().events();
    CHECK(json::parse(events.front())["choices"][0]["text"] == "once");
    CHECK(check_error(json::parse(events.back())).find("send the request again") !=
          std::string::npos);
    CHECK(server.command.wait() == 1);
    CHECK(server.command.err.find("ended with 3 requests without a complete answer") !=
          std::string::npos);
  }
}

TEST_CASE("what a server cannot begin with is refused, and says what to do") {
  const TestServer server(alphabet());
  const std::string port = server.url().substr(server.url().rfind(':') + 1);
  for (const auto& [options, status, fact] : std::vector<std::tuple<Words, int, std::string>>{
           {{"--port", port}, 1, "cannot listen on 127.0.0.1 port " + port},
           {{"--host", "no such host", "--port", "0"}, 1, "--host 'no such host'"},
           {{"-m", "a=gpt2-stories", "-m", "a=gpt2-stories"}, 2, "two models are called 'a'"},
           {{"-m", "gpt-4"}, 1, "gpt-4"},
           {{"-m", "=" + std::string(alphabet_model())}, 2, "expected NAME=MODEL"}}) {
    check_refused(joined_words({"serve"}, options), status, {fact});
  }
  check_serves(server);
}

TEST_CASE("a port can be used again as soon as the server has ended") {
  std::string port = "0";
  for (int i = 0; i < 2; ++i) {
    TestServer server(alphabet({"--port", port}));
    port = server.url().substr(server.url().rfind(':') + 1);
    HttpClient open = server.connect();  // the server closes it, which leaves it in TIME_WAIT
    check_normal(open.ask(kNormalRequest));
    server.command.send(SIGTERM);
    CHECK(server.command.wait() == 0);
  }
}

TEST_CASE("the server warns if other machines can reach its socket and need no key") {
  for (const auto& [options, warns] :
       std::vector<std::pair<Words, bool>>{{{"--host", "0.0.0.0"}, true},
                                           {{"--host", "0.0.0.0", "--api-key", "k"}, false},
                                           {{"--host", "127.0.0.2"}, false},
                                           {{"--host", "localhost"}, false}}) {
    CAPTURE(options);
    TestServer server(alphabet(options));
    CHECK(has_warned(server.command) == warns);
  }
}

}  // namespace gpt2::test::ending_test
