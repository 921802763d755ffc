// Tests the ids of requests, and the log that --log-requests writes.
#include <signal.h>

#include <regex>

#include "serve/answers.h"

namespace gpt2::test::request_log_test {

namespace {

// Ends the server, and returns the lines of its log.
std::vector<json> log_of(TestServer& server) {
  server.command.send(SIGTERM);
  CHECK(server.command.wait() == 0);
  std::string log = server.command.err;
  while (log.starts_with("gpt2: ")) log.erase(0, log.find('\n') + 1);
  return json_lines(log.substr(0, log.find("gpt2: ")));
}

}  // namespace

TEST_CASE("each answer has an id in its header, which is that of the body if this has one") {
  const TestServer server(alphabet({"--max-body", "2000"}));
  std::set<std::string> ids;
  const auto id_of = [&](const HttpResponse& response) {
    CAPTURE(response.status, response.body);
    const std::string id = response.headers.at("x-request-id");
    CHECK(ids.insert(id).second);
    return id;
  };
  const json hello = {{"messages", {{{"role", "user"}, {"content", "Hello"}}}}, {"max_tokens", 3}};
  const HttpResponse whole = server.post("/v1/completions", kNormal);
  CHECK(id_of(whole) == whole.json()["id"]);
  const HttpResponse chat = server.post("/v1/chat/completions", hello);
  CHECK(id_of(chat) == chat.json()["id"]);
  json streamed = kNormal;
  streamed["stream"] = true;
  const HttpResponse stream = server.post("/v1/completions", streamed);
  CHECK(id_of(stream) == json::parse(stream.events().front())["id"]);
  for (const char* const path : {"/health", "/nothing"}) id_of(server.get(path));
  id_of(server.post("/v1/embeddings", {{"input", "a"}}));
  id_of(server.post("/v1/completions", {{"prompt", 5}}));
  id_of(server.post("/v1/completions", {{"model", "other"}}));
  id_of(server.post("/v1/completions", {{"prompt", std::string(3000, 'a')}}));
  const TestServer another(alphabet());
  id_of(another.post("/v1/completions", kNormal));  // the ids of two servers differ, too
}

TEST_CASE("--log-requests writes a line for each request, without prompts and keys") {
  TestServer server(alphabet({"--log-requests", "--api-key", "SECRET"}));
  json body = kNormal;
  body["user"] = "PRIVATE";
  const HttpResponse answer =
      server.connect().ask(http_request("POST", "/v1/completions", body.dump(), bearer("SECRET")));
  check_normal(answer);
  CHECK(server.get("/health?key=SECRET").status == 200);
  CHECK(server.get("/v1/models").status == 401);
  CHECK(server.get("/a\"b").status == 401);
  CHECK(server.get("/%C2%9B2J%E2%80%A8").status == 401);  // what controls terminals, a line end
  const auto lines = log_of(server);
  CHECK(server.command.err.find("SECRET") == std::string::npos);
  CHECK(server.command.err.find("PRIVATE") == std::string::npos);
  CHECK(std::ranges::all_of(server.command.err, [](char c) { return c == '\n' || c >= ' '; }));
  REQUIRE(lines.size() == 5);
  const std::vector<std::pair<std::string, int>> expected = {{"/v1/completions", 200},
                                                             {"/health", 200},
                                                             {"/v1/models", 401},
                                                             {"/a\"b", 401},
                                                             {"/\xc2\x9b"
                                                              "2J\xe2\x80\xa8",
                                                              401}};
  const std::regex time(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    check_shape(lines[i],
                "time:string id:string client:string method:string path:string "
                "status:integer complete:boolean seconds:number");
    CHECK(std::regex_match(lines[i]["time"].get<std::string>(), time));
    CHECK(lines[i]["client"] == "127.0.0.1");
    CHECK(lines[i]["method"] == (i == 0 ? "POST" : "GET"));
    CHECK(lines[i]["path"] == expected[i].first);
    CHECK(lines[i]["status"] == expected[i].second);
    CHECK(lines[i]["complete"] == true);
    CHECK(lines[i]["seconds"].get<double>() >= 0);
  }
  CHECK(lines[0]["id"] == answer.json()["id"]);
}

TEST_CASE("a client that leaves has one line in the log: 499, unless it has had its answer") {
  TestServer server(alphabet({"--log-requests", "--parallel", "1"}));
  const std::string request = kNormalRequest;
  HttpClient answered = server.connect(), running = server.connect(), waiting = server.connect();
  check_normal(answered.ask(request));
  answered.close();
  HttpClient stream = server.connect();
  stream.send(endless(true));
  stream.await("data: ");
  stream.close();
  server.await_idle();
  running.send(endless(false));
  server.await_metric("gpt2_batch_size", 1);
  waiting.send(request);
  server.await_metric("gpt2_texts_waiting", 1);
  waiting.close();
  server.await_metric("gpt2_requests_open", 1);
  running.close();
  server.await_idle();
  for (const std::string& own : requests_with_own_passes()) {
    HttpClient computing = server.connect();
    computing.send(own);
    server.await_metric("gpt2_requests_open", 1);
    computing.close();
    server.await_idle();
  }
  server.await_metric("gpt2_connections", 1);
  std::vector<std::pair<int, bool>> ends;
  for (const json& line : log_of(server)) {
    CHECK(line["client"] == "127.0.0.1");
    if (line["method"] == "POST") ends.emplace_back(line["status"], line["complete"]);
  }
  std::vector<std::pair<int, bool>> expected = {{200, true}, {200, false}};
  expected.resize(2 + 2 + requests_with_own_passes().size(), {499, false});
  CHECK(ends == expected);
}

}  // namespace gpt2::test::request_log_test
