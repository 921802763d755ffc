// Speaks HTTP with gpt2 serve as no client should: ambiguous and endless requests, clients that are
// slow, and clients that leave before the whole request has arrived. The next request must be
// served as if nothing had been. load_test and request_log_test have clients that leave later.

#include "serve/answers.h"
#include "support/is_slow.h"

namespace gpt2::test::hostile_http_test {

namespace {

const TestServer& server() {
  static const TestServer one(alphabet({"--idle-timeout", "3"}));
  return one;
}

const std::string kBody = kNormal.dump();

// A request for a completion with these headers, each of which ends in \r\n, and this body.
std::string raw(const std::string& headers, const std::string& body) {
  return "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n" + body;
}

std::string length(const std::string& body) {
  return "Content-Length: " + std::to_string(body.size()) + "\r\n";
}

std::string chunk(const std::string& data) {
  char size[32];
  std::snprintf(size, sizeof size, "%zx\r\n", data.size());
  return size + data + "\r\n";
}

const std::string kChunked = "Transfer-Encoding: chunked\r\n";

// Checks that a request is refused, by an answer or by the end of the connection, and that what
// follows it on the connection is not taken for a request.
void check_rejected(const std::string& request) {
  CAPTURE(request.substr(0, 300));
  HttpClient client = server().connect();
  client.send(request + http_request("GET", "/health"));
  const HttpResponse response = client.receive();
  CAPTURE(response.status, response.body);
  CHECK((response.status == 0 || (response.status >= 400 && response.status < 500) ||
         response.status == 501 || response.status == 505));
  CHECK(client.await_end().find("\"ok\"") == std::string::npos);
}

// Waits until the server has forgotten all clients but the one that asks.
void await_quiet(const TestServer& one) {
  one.await_idle();
  one.await_metric("gpt2_connections", 1);
}

}  // namespace

TEST_CASE("a body in chunks is the same as a whole one") {
  for (const std::size_t size : {1, 2, 7, 1000}) {
    std::string chunks;
    for (std::size_t i = 0; i < kBody.size(); i += size) chunks += chunk(kBody.substr(i, size));
    check_normal(server().connect().ask(raw(kChunked, chunks + "0\r\n\r\n")));
  }
}

TEST_CASE("what is not clearly one request of HTTP is refused, and nothing after it is read") {
  const std::string chunks = chunk(kBody) + "0\r\n\r\n", flood(100000, 'a');
  std::vector<std::string> requests = {
      std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(600, 'x') +
          "\r\n\r\n",
      "hello\r\n\r\n",
      "GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n",
      "GET /health\r\n\r\n",
      "GET /health HTTP/1.1\r\n\r\n",
      "GET /" + flood + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
      flood + " /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
      raw("X: " + flood + "\r\n", ""),
      raw(flood + ": x\r\n", ""),
      raw(kChunked + length(chunks), chunks),
      raw(kChunked + kChunked, chunks),
      raw("Transfer-Encoding: gzip, chunked\r\n", chunks),
      raw("Transfer-Encoding: xchunked\r\n", chunks)};
  std::string many;
  for (int i = 0; i < 20000; ++i) many += "X-" + std::to_string(i) + ": a\r\n";
  requests.push_back(raw(many, ""));
  const std::string hidden = std::to_string(http_request("GET", "/health").size()) + "\r\n";
  for (const std::string& header :
       Words{length(kBody) + length(kBody), length(kBody) + "Content-Length: 3\r\n",
             "Content-Length: 3\r\n" + length(kBody), length(kBody) + kChunked,
             "Transfer-Encoding: identity\r\n", "Content-Length: -1\r\n", "Content-Length: +5\r\n",
             "Content-Length: 5, 5\r\n", "Content-Length: 0x10\r\n", "Content-Length: five\r\n",
             "Content-Length: 99999999999999999999999\r\n"}) {
    requests.push_back(raw(header, kBody));
  }
  for (const std::string& sizes : Words{"zz\r\n{}", "-2\r\n{}", "ffffffffffffffffff\r\n{}", "\r\n",
                                        "0x2\r\n{}", "2\r\n{}xx"}) {
    requests.push_back(raw(kChunked, sizes + "\r\n0\r\n\r\n"));
  }
  requests.push_back(raw(kChunked, std::string(100000, '0')));
  // What follows these is the body to a proxy, and a request to a server that overlooks them.
  for (const std::string& header :
       Words{"Content-Length : " + hidden, "Content-Length:\r\n " + hidden,
             "Transfer-Encoding:\r\n chunked\r\n", "Transfer-Encoding\t: chunked\r\n",
             "Content-Length\x0b: " + hidden, "X: a\rContent-Length: " + hidden,
             "X(y: a\r\nContent-Length: " + hidden, "Host: example.com\r\n"}) {
    requests.push_back(raw(header, ""));
  }
  const std::string old = "POST /v1/completions HTTP/1.0\r\nConnection: keep-alive\r\n";
  requests.push_back(old + kChunked + "\r\n" + chunks);
  for (const std::string& request : requests) check_rejected(request);
  check_serves(server());
}

TEST_CASE("NUL bytes and empty names in headers do no harm") {
  using namespace std::string_literals;
  for (const std::string& request :
       {raw("X: a\0b\r\n"s + length(kBody), kBody), raw("X\0: a\r\n"s + length(kBody), kBody),
        raw(": a\r\n"s + length(kBody), kBody), raw("X a\r\n"s + length(kBody), kBody),
        "POST /v1/completions\0 HTTP/1.1\r\nHost: localhost\r\n"s + length(kBody) + "\r\n" + kBody,
        "\0"s + raw(length(kBody), kBody)}) {
    HttpClient client = server().connect();
    client.send(request);
    const int status = client.receive().status;
    CHECK((status == 0 || status == 200 || (status >= 400 && status < 500)));
  }
  check_serves(server());
}

TEST_CASE("a body that is too large is refused with status 413, which the client sees") {
  const TestServer small(alphabet({"--max-body", "2000"}));
  const std::string large(3000000, ' ');
  for (const std::string& request :
       {raw(length(large), large), raw(kChunked, chunk(large) + "0\r\n\r\n")}) {
    HttpClient client = small.connect();
    REQUIRE(client.send(request));
    const HttpResponse response = client.receive();
    CHECK(response.status == 413);
    CHECK(check_error(response.json()).find("2000") != std::string::npos);
  }
  const std::string fits = kBody + std::string(2000 - kBody.size(), ' ');
  check_normal(small.connect().ask(raw(length(fits), fits)));
  check_normal(small.connect().ask(raw(kChunked, chunk(fits) + "0\r\n\r\n")));
  CHECK(small.connect().ask(raw(length(fits + " "), fits + " ")).status == 413);
}

TEST_CASE("a compressed body is refused with status 415") {
  const HttpResponse response =
      server().connect().ask(raw(length(kBody) + "Content-Encoding: gzip\r\n", kBody));
  CHECK(response.status == 415);
  CHECK(check_error(response.json()).find("gzip") != std::string::npos);
  const std::string headers = length(kBody) + "Content-Encoding: Identity\r\n";
  check_normal(server().connect().ask(raw(headers, kBody)));
}

TEST_CASE("a connection serves request after request, even if they come at once") {
  HttpClient client = server().connect();
  const std::string request = raw(length(kBody), kBody);
  client.send(request + http_request("GET", "/health") + request);
  check_normal(client.receive());
  CHECK(client.receive().status == 200);
  check_normal(client.receive());
  for (int i = 0; i < 50; ++i) check_normal(client.ask(request));
  CHECK(client.ask(http_request("GET", "/nothing")).status == 404);
  check_normal(client.ask(request));
}

TEST_CASE("clients of HTTP/1.0, and those that ask for it, have the connection closed") {
  const std::string old = "POST /v1/completions HTTP/1.0\r\n" + length(kBody) + "\r\n" + kBody;
  for (const std::string& request : {old, raw("Connection: close\r\n" + length(kBody), kBody)}) {
    HttpClient client = server().connect();
    check_normal(client.ask(request));
    CHECK(client.await_end() == "");
  }
  json body = kNormal;
  body["stream"] = true;
  const std::string text = body.dump();
  HttpClient client = server().connect();
  const HttpResponse stream =
      client.ask("POST /v1/completions HTTP/1.0\r\n" + length(text) + "\r\n" + text);
  CHECK_FALSE(stream.headers.contains("transfer-encoding"));
  CHECK(stream.events().back() == "[DONE]");
}

TEST_CASE("clients that leave after any number of bytes of a request leave nothing behind") {
  for (const std::string& request :
       {raw(length(kBody), kBody), raw(kChunked, chunk(kBody) + "0\r\n\r\n"), endless(true)}) {
    for (std::size_t size = 0; size <= request.size(); ++size) {
      for (const bool abruptly : {false, true}) {
        HttpClient client = server().connect();
        client.send(request.substr(0, size));
        client.close(abruptly);
      }
    }
    check_serves(server());
  }
  await_quiet(server());
}

TEST_CASE("a client that reads nothing does not stop the others, and loses its connection") {
  if (is_slow()) return;  // a sanitizer needs half a minute to write as much
  const TestServer one(alphabet({"--idle-timeout", "1"}));
  HttpClient slow(one.url(), /*receive_buffer=*/4096);
  const json body = {{"prompt", "a"},      {"max_tokens", 19000}, {"overflow", "slide"},
                     {"ignore_eos", true}, {"stream", true},      {"logprobs", 100}};
  slow.send(http_request("POST", "/v1/completions", body.dump()));
  one.await_metric("gpt2_batch_size", 1);
  check_serves(one);
  await_quiet(one);
  check_serves(one);
}

TEST_CASE("a client that is slow to read gets its whole stream") {
  json body = {{"prompt", "a"}, {"max_tokens", 900}, {"temperature", 0}, {"ignore_eos", true}};
  const std::string whole =
      server().post("/v1/completions", body).json()["choices"][0]["text"].get<std::string>();
  body["stream"] = true;
  HttpClient slow(server().url(), /*receive_buffer=*/4096);
  slow.send(http_request("POST", "/v1/completions", body.dump()));
  server().await_idle();  // the server has written everything before the client reads anything
  CHECK(streamed_text(slow.receive()) == whole);
}

TEST_CASE("a client that does not send a whole request in time loses its connection") {
  const TestServer impatient(alphabet({"--idle-timeout", "1"}));
  HttpClient silent = impatient.connect();
  HttpClient header = impatient.connect();
  header.send("POST /v1/comp");
  HttpClient body = impatient.connect();
  body.send(raw(length(kBody), kBody.substr(0, 5)));
  HttpClient dripping = impatient.connect();  // sends a byte now and then, but no whole request
  for (int i = 0; i < 1000000 && dripping.send("X"); ++i) {
    if (i % 100 == 0) check_serves(impatient);
  }
  HttpClient idle = impatient.connect();
  check_normal(idle.ask(raw(length(kBody), kBody)));
  for (HttpClient* const client : {&silent, &header, &body, &idle}) client->await_end();
  await_quiet(impatient);
}

}  // namespace gpt2::test::hostile_http_test
