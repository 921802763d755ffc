#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/fail.h"
#include "base/json.h"
#include "base/names.h"
#include "gpt2/model.h"
#include "gpt2/scheduler.h"
#include "gpt2/tokenizer.h"
#include "model/loading/weight_stream.h"
#include "requests/answer/own_form.h"
#include "requests/read/members.h"
#include "requests/run/run.h"

// The functions of gpt2.wasm, which gpt2.mjs calls. A request and an answer are JSON; an answer, or
// an error as {"error": {"message", ...}}, is the text that gpt2_web_text() and gpt2_web_size()
// return until the next call. Functions return 0, or a null pointer, for an error.

namespace gpt2::web {
namespace {

std::string text;

void write(const Json& json) { text = json.text(); }

/// Calls f, and returns what it returns, or 0 if it throws.
template <class F>
auto guard(const F& f) noexcept -> decltype(f()) {
  try {
    text.clear();
    return f();
  } catch (const Error& error) {
    write(error_json(error));
  } catch (const std::bad_alloc&) {
    text = R"({"error": {"message": "there is not enough memory", "code": "out_of_memory"}})";
  } catch (const std::exception& error) {
    write(error_json(error.what(), "server_error"));
  }
  return {};
}

JsonDocument<nlohmann::json> parse(const char* body) {
  JsonDocument<nlohmann::json> request;
  parse_object(request.root, body, "the request");
  return request;
}

struct PageModel {
  Engine engine;
  std::optional<Tokenizer> tokenizer;
  std::string name;
  Scheduler scheduler{engine, {}};

  [[nodiscard]] const Config& config() const { return engine.model().config(); }
};

struct PageRun {
  std::unique_ptr<Run> run;
  Json events = Json::array();  // since the last step
};

WeightType type_named(std::string_view name) {
  const auto type = weight_type_named(name);
  if (!type) reject("dtype: expected ", listed_names<WeightType>());
  return *type;
}

// Returns the files. If the weights were quantized as they arrived, their config.json becomes the
// text `config`.
std::vector<MemoryFile> files_in(const nlohmann::json& list, WeightType dtype,
                                 std::string& config) {
  std::vector<MemoryFile> files;
  bool is_quantized = false;
  for (const auto& file : list) {
    is_quantized = is_quantized || file.value("is_quantized", false);
    const auto address = file.at("address").get<std::uintptr_t>();
    const std::span bytes(reinterpret_cast<const std::byte*>(address),
                          file.at("size").get<std::size_t>());
    files.push_back({.name = file.at("name").get_ref<const std::string&>(), .bytes = bytes});
  }
  for (MemoryFile& file : files) {
    if (!is_quantized || file.name != "config.json") continue;
    config = quantized_config(text_of(file.bytes), dtype);
    file.bytes = std::as_bytes(std::span(config));
  }
  return files;
}

RunEvents events_of(PageRun& run) {
  RunEvents events;
  events.on_piece = [&run](std::size_t index, const CompletionPiece& piece) {
    Json event = {{"index", index}, {"text", piece.text}};
    if (piece.token) event.add("token_id", *piece.token);
    run.events.push_back(event);
    return true;
  };
  events.on_progress = [&run](double share) { run.events.push_back(Json{{"progress", share}}); };
  return events;
}

}  // namespace

extern "C" {

[[gnu::used]] const char* gpt2_web_text() { return text.data(); }
[[gnu::used]] std::size_t gpt2_web_size() { return text.size(); }

/// Memory for a file or a request. The files of a model stay in use.
[[gnu::used]] void* gpt2_web_allocate(std::size_t bytes) { return std::aligned_alloc(64, bytes); }
[[gnu::used]] void gpt2_web_release(void* memory) { std::free(memory); }

/// Begins to quantize weights as they arrive, which gpt2_web_add() takes.
[[gnu::used]] WeightStream* gpt2_web_stream(const char* dtype) {
  return guard([&] { return new WeightStream(type_named(dtype)); });
}
[[gnu::used]] int gpt2_web_add(WeightStream* stream, const std::byte* part, std::size_t size) {
  return guard([&] {
    stream->add({part, size});
    return 1;
  });
}
/// Writes where the quantized file is: {"address", "size", "is_quantized"}. It stays in use.
[[gnu::used]] int gpt2_web_finish(const WeightStream* stream) {
  return guard([&] {
    const Bytes file = stream->finish();
    write({{"address", reinterpret_cast<std::uintptr_t>(file.data())},
           {"size", file.size()},
           {"is_quantized", stream->is_quantized()}});
    return 1;
  });
}

/// Opens the model of this module:
/// {"name", "dtype", "tokenizer", "files": [{"name", "address", "size", "is_quantized"}]}.
[[gnu::used]] PageModel* gpt2_web_open(const char* body) {
  return guard([&] {
    const auto request = parse(body);
    const WeightType dtype = type_named(request.root.at("dtype").get<std::string>());
    std::string config;
    const auto files = files_in(request.root.at("files"), dtype, config);
    const Engine engine(Model::load(files, {.dtype = dtype}), {.threads = 1});
    std::optional<Tokenizer> tokenizer;
    if (request.root.at("tokenizer").get<bool>()) {
      tokenizer = Tokenizer::load(files);
      tokenizer->require_match(engine.model().config());
    }
    return new PageModel{engine, std::move(tokenizer), request.root.at("name").get<std::string>()};
  });
}

/// Begins a run of this kind.
[[gnu::used]] PageRun* gpt2_web_begin(PageModel* model, const char* kind_name, const char* body) {
  return guard([&] {
    const RunKind& kind = run_kind(kind_name);
    const RequestContext context = {model->tokenizer, model->config()};
    auto run = std::make_unique<PageRun>();
    run->run = make_run(kind, kind.read(parse(body).root, context),
                        {model->engine,
                         model->scheduler,
                         model->tokenizer,
                         {.id = kind.id_prefix + std::string("web"), .model = model->name}},
                        events_of(*run));
    return run.release();
  });
}

/// Goes on with a run, and writes {"events", "parts"}: what is new. Returns 1 if the run goes on,
/// and 2 if it has finished; then the text has its "answer", too.
[[gnu::used]] int gpt2_web_step(PageRun* run) {
  return guard([&] {
    const bool goes_on = run->run->step();
    Json news = {{"events", std::exchange(run->events, Json::array())},
                 {"parts", run->run->take_parts()}};
    if (!goes_on) news.add("answer", run->run->json());
    write(news);
    return goes_on ? 1 : 2;
  });
}
[[gnu::used]] void gpt2_web_end(PageRun* run) { delete run; }

/// Writes what the model is and what a request can ask for.
[[gnu::used]] int gpt2_web_describe(const PageModel* model) {
  return guard([&] {
    Json json = {{"name", model->name}, {"options", option_list(/*is_own=*/false)}};
    json.add_members_of(model_json(model->engine.model()));
    write(json);
    return 1;
  });
}

}  // extern "C"
}  // namespace gpt2::web
