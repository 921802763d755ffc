// Tests who may use gpt2 serve: keys, pages of other origins, and how many at once.
#include <sys/resource.h>

#include "serve/answers.h"

namespace gpt2::test::access_test {

namespace {

HttpResponse ask(const TestServer& server, const std::string& headers,
                 const std::string& path = "/v1/completions") {
  return server.connect().ask(http_request("POST", path, kNormal.dump(), headers));
}

std::string with_host(std::string request, const std::string& host) {
  return request.replace(request.find("Host: localhost"), 15, "Host: " + host);
}

void check_unauthorized(const HttpResponse& response) {
  CAPTURE(response.body);
  CHECK(response.status == 401);
  CHECK(response.headers.at("www-authenticate") == "Bearer");
  check_error(response.json());
  CHECK(response.json()["error"]["code"] == "invalid_api_key");
}

// Returns the lines of /metrics that are numbers of requests or tokens and not 0.
std::vector<std::string> work_done(const TestServer& server, const std::string& key) {
  std::istringstream lines(
      server.connect().ask(http_request("GET", "/metrics", "", bearer(key))).body);
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    const bool counts =
        line.find("_tokens_total ") != line.npos || line.starts_with("gpt2_requests_total{");
    const bool is_refusal = line.find("status=\"401\"") != line.npos;
    if (counts && !is_refusal && !line.starts_with('#') && !line.ends_with(" 0")) {
      found.push_back(line);
    }
  }
  return found;
}

void allow_many_files() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(4096, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

TEST_CASE("without one of its keys, the server computes nothing") {
  const TemporaryDirectory place;
  const std::string file =
      place.write("keys", "# of the team\n\nfile-key-1 \r\nfile-key-2").string();
  const TestServer server(
      alphabet({"--api-key", "Key-A", "--api-key", "Key-B", "--api-key-file", file}),
      {.environment = {"GPT2_API_KEY=from-environment"}});
  for (const std::string& headers :
       {std::string(), bearer(""), bearer("key-a"), bearer("Key-"), bearer("Key-AA"),
        bearer("Key-A Key-B"), bearer("# of the team"), std::string("Authorization: Key-A\r\n"),
        std::string("Authorization: Basic Key-A\r\n"), std::string("Authorization: Bearer\r\n"),
        std::string("X-Api-Key: Key-A\r\n"), bearer(std::string(20000, 'K'))}) {
    CAPTURE(headers.substr(0, 100));
    check_unauthorized(ask(server, headers));
    check_unauthorized(ask(server, headers, "/v1/nothing"));
  }
  for (const char* const path : {"/v1/completions?api_key=Key-A", "/v1/completions?key=Key-A",
                                 "/v1/embeddings", "/tokenize", "/metrics", "/v1/models"}) {
    check_unauthorized(ask(server, "", path));
    check_unauthorized(server.get(path));
  }
  HttpClient head = server.connect();
  head.send(http_request("HEAD", "/v1/models", "", "Connection: close\r\n"));
  CHECK(head.await_end().starts_with("HTTP/1.1 401"));
  CHECK(server.get("/health").status == 200);
  CHECK(work_done(server, "Key-A") ==
        std::vector<std::string>{"gpt2_requests_total{path=\"/health\",status=\"200\"} 1"});
  CHECK(server.connect()
            .ask(http_request("GET", "/metrics", "", bearer("Key-A")))
            .body.find("gpt2_requests_total{path=\"other\",status=\"401\"} 12\n") !=
        std::string::npos);
  for (const char* const key : {"Key-A", "Key-B", "file-key-1", "file-key-2", "from-environment"}) {
    CAPTURE(key);
    check_normal(ask(server, bearer(key)));
  }
  check_normal(ask(server, "Authorization: Bearer Key-A \r\n"));
  check_normal(ask(server, "authorization: bearer Key-A\r\n"));  // the scheme may be in lower case
}

TEST_CASE("keys that no client could send are refused") {
  const TemporaryDirectory place;
  const auto refused = [](const Words& options, const std::string& fact, int status = 1,
                          const Words& environment = {}) {
    check_refused(joined_words({"serve", "--port", "0"}, options), status, {fact},
                  {.environment = environment});
  };
  refused({"--api-key", "a b"}, "--api-key", 2);
  const std::string wrong = place.write("wrong", "# ours\n\ngood\nb a d\n").string();
  refused({"--api-key-file", wrong}, wrong + ":4: ");
  const std::string empty = place.write("empty", "# nothing\n \n").string();
  refused({"--api-key-file", empty}, empty);
  refused({}, "GPT2_API_KEY", 1, {"GPT2_API_KEY="});
}

TEST_CASE("pages of other origins may not use the server, unless --cors allows them") {
  const TestServer server(alphabet());
  for (const char* const origin : {"http://evil.example", "https://localhost.evil.example", "null",
                                   "http://localhost:81", "http://localhost.", "file://"}) {
    CAPTURE(origin);
    const HttpResponse response = ask(server, std::string("Origin: ") + origin + "\r\n");
    CHECK(response.status == 403);
    CHECK(check_error(response.json()).find("--cors") != std::string::npos);
    CHECK_FALSE(response.headers.contains("access-control-allow-origin"));
  }
  const std::string preflight =
      "Origin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n";
  CHECK(server.connect().ask(http_request("OPTIONS", "/v1/completions", "", preflight)).status ==
        403);
  CHECK(server.metric("gpt2_prompt_tokens_total") == 0);
  check_serves(server);

  const TestServer open(alphabet(
      {"--cors", "https://page.example", "--cors", "http://localhost:3000", "--api-key", "k"}));
  const std::string page = "Origin: https://page.example\r\n";
  const HttpResponse allowed =
      open.connect().ask(http_request("OPTIONS", "/v1/completions", "", page));
  CHECK(allowed.status == 204);
  CHECK(allowed.headers.at("access-control-allow-origin") == "https://page.example");
  CHECK(allowed.headers.at("access-control-allow-headers").find("Authorization") !=
        std::string::npos);
  check_unauthorized(ask(open, page));
  const HttpResponse answer = ask(open, page + bearer("k"));
  check_normal(answer);
  CHECK(answer.headers.at("access-control-allow-origin") == "https://page.example");
  CHECK(ask(open, "Origin: http://page.example\r\n" + bearer("k")).status == 403);
  CHECK(ask(open, "Origin: http://localhost:3000\r\n" + bearer("k"))
            .headers.at("access-control-allow-origin") == "http://localhost:3000");
  const TestServer all(alphabet({"--cors", "*"}));
  check_normal(ask(all, "Origin: http://any.example\r\n"));
  for (const std::string origin :
       {"https://a/", "https://a:443", "http://a:80", "http://a:", "https://*.a", "https://A",
        "https://\u00e9.a", "https://a b", "https://a,https://b", "a", ""}) {
    CAPTURE(origin);
    CHECK(run({"serve", "--cors", origin}).status == 2);
  }
}

TEST_CASE("a name that may lead here later is refused, with an origin and without") {
  // The status of a request to this host: from no page, and from the page of the host itself.
  const auto statuses = [](const TestServer& server, std::string_view method,
                           const std::string& path, const std::string& host,
                           const std::string& headers = "") {
    const std::string body = method == "POST" ? kNormal.dump() : "";
    std::vector<int> found;
    for (const std::string& origin : {std::string(), "Origin: http://" + host + "\r\n"}) {
      const HttpResponse response =
          server.connect().ask(with_host(http_request(method, path, body, headers + origin), host));
      if (response.status == 403) {
        CHECK(check_error(response.json()).find("http://" + host) != std::string::npos);
      }
      found.push_back(response.status);
    }
    return found;
  };
  using Statuses = std::vector<int>;
  const TestServer local(alphabet()), named(alphabet({"--cors", "http://gpt2.example"})),
      any(alphabet({"--cors", "*"})), reachable(alphabet({"--host", "0.0.0.0"})),
      with_key(alphabet({"--api-key", "k"}));
  const auto check = [&](const TestServer& server, const Words& hosts, const Statuses& expected,
                         const std::string& headers = "") {
    for (const std::string& host : hosts) {
      CAPTURE(host, server.url());
      CHECK(statuses(server, "GET", "/v1/models", host, headers) == expected);
      CHECK(statuses(server, "POST", "/v1/completions", host, headers) == expected);
    }
  };
  check(local, {"localhost", "localhost:80", "127.0.0.1", "[::1]:1", "10.0.0.1"}, {200, 200});
  check(local, {"evil.example", "evil.example:8080", "127.0.0.1.example"}, {403, 403});
  CHECK(local.metric("gpt2_requests_total{path=\"/v1/models\",status=\"403\"}") == 6);
  check(named, {"gpt2.example"}, {200, 200});
  check(any, {"any.example"}, {200, 200});
  // Others reach it anyway, but a page that was opened under a name still needs a key.
  check(reachable, {"gpt2.example"}, {200, 403});
  check(with_key, {"gpt2.example"}, {200, 200}, bearer("k"));
  check(with_key, {"evil.example"}, {401, 401});
  CHECK(statuses(local, "GET", "/v1/models", "LOCALHOST:80")[0] == 200);
  for (const char* const path : {"/", "/health", "/metrics", "/nothing"}) {
    CHECK(statuses(local, "GET", path, "evil.example") == Statuses{403, 403});
  }
  CHECK(statuses(local, "OPTIONS", "/v1/completions", "evil.example") == Statuses{403, 403});
}

TEST_CASE("a thousand idle connections do not disturb others") {
  allow_many_files();
  const TestServer server(alphabet());
  std::vector<HttpClient> idle;
  for (int i = 0; i < 1000; ++i) {
    idle.push_back(server.connect());
    if (i % 2 == 0) idle.back().send("POST /v1/completions HTTP/1.1\r\nHo");
  }
  for (int i = 0; i < 20; ++i) check_serves(server);
  server.await_metric("gpt2_connections", 1001);
  for (std::size_t i = 1; i < idle.size(); i += 99) {
    if (i % 2 == 1) check_normal(idle[i].ask(kNormalRequest));
  }
  idle.clear();
  server.await_metric("gpt2_connections", 1);
}

TEST_CASE("while too many requests are open, further ones get status 503") {
  const TestServer server(alphabet({"--max-requests", "2"}));
  HttpClient first = server.connect(), second = server.connect();
  for (HttpClient* const client : {&first, &second}) {
    client->send(endless(true));
    client->await("data: ");
  }
  for (const char* const path : {"/v1/completions", "/v1/embeddings"}) {
    const json body = std::string(path) == "/v1/embeddings" ? json{{"input", "a"}} : kNormal;
    const HttpResponse response = server.post(path, body);
    CHECK(response.status == 503);
    CHECK(std::stoi(response.headers.at("retry-after")) >= 1);
    check_error(response.json());
    CHECK(response.json()["error"]["type"] == "server_error");
  }
  CHECK(server.get("/v1/models").status == 200);  // needs no turn
  CHECK(server.metric("gpt2_requests_open") == 2);
  first.close();
  server.await_metric("gpt2_requests_open", 1);
  check_serves(server);
}

TEST_CASE("a stream that waits for its turn says so in comments, from its first seconds") {
  const TestServer server(alphabet({"--parallel", "1"}));
  HttpClient first = server.connect(), second = server.connect();
  first.send(endless(false));  // a stream that nobody reads would be given up
  server.await_metric("gpt2_batch_size", 1);
  nlohmann::json body = kNormal;
  body["stream"] = true;
  second.send(http_request("POST", "/v1/completions", body.dump()));
  second.await(": waiting\n\n");
  first.close();
  CHECK(streamed_text(second.receive()) == streamed_text(server.post("/v1/completions", body)));
}

}  // namespace gpt2::test::access_test
