#include "requests/run/run.h"

#include <atomic>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/fail.h"
#include "requests/answer/inspection.h"
#include "requests/answer/numbers.h"
#include "requests/answer/own_form.h"
#include "requests/read/completion_request.h"
#include "requests/run/completion_run.h"

namespace gpt2 {
namespace {

using nlohmann::json;

constexpr std::string_view kPageKind = "inspect_page";

// A run without texts, whose passes are those of one call of the library.
class CallRun : public Run {
 public:
  using Progress = std::function<void(double)>;

  CallRun(RunEvents events, std::size_t tokens, std::function<void(const Progress&)> call,
          std::function<Json()> write)
      : events_(std::move(events)),
        tokens_(tokens),
        call_(std::move(call)),
        write_(std::move(write)) {}

  [[nodiscard]] bool has_own_passes() const noexcept override { return true; }

  void compute(const std::function<void()>& between) override {
    if (std::exchange(is_computed_, true)) return;
    const auto go_on = [&](double share) {
      if (events_.on_progress) events_.on_progress(share);
      if (between) between();
      if (is_cancelled_ || (events_.goes_on && !events_.goes_on())) throw Cancelled();
    };
    go_on(0.0);
    call_(go_on);
  }

  bool advance() override {
    compute({});
    return false;
  }

  bool step() override { return advance(); }
  void cancel() noexcept override { is_cancelled_ = true; }
  [[nodiscard]] Json json() override { return write_(); }
  [[nodiscard]] RunTokens tokens() override { return {.prompt = tokens_}; }

 private:
  const RunEvents events_;
  const std::size_t tokens_;
  const std::function<void(const Progress&)> call_;
  const std::function<Json()> write_;
  bool is_computed_ = false;
  std::atomic<bool> is_cancelled_ = false;
};

// Makes a run of `compute`, which takes a function for its progress, and of `write`, which takes
// its result.
template <class Compute, class Write>
std::unique_ptr<Run> call_run(RunEvents events, std::size_t tokens, Compute compute, Write write) {
  const auto result = std::make_shared<decltype(compute(CallRun::Progress()))>();
  return std::make_unique<CallRun>(
      std::move(events), tokens,
      [=](const CallRun::Progress& progress) { *result = compute(progress); },
      [=] { return write(*result); });
}

std::unique_ptr<Run> run_of(const RunKind& kind, CompletionRequest request, const RunContext& of,
                            RunEvents events) {
  auto form = kind.form(of.head, of.tokenizer, request);
  return std::make_unique<CompletionRun>(of.engine, of.scheduler, of.tokenizer, std::move(request),
                                         std::move(events), std::move(form), of.session);
}

std::unique_ptr<Run> run_of(const RunKind&, EmbeddingRequest request, const RunContext& of,
                            RunEvents events) {
  const std::size_t tokens = request.tokens();
  const auto shared = std::make_shared<const EmbeddingRequest>(std::move(request));
  return call_run(
      std::move(events), tokens,
      [shared, engine = of.engine](const auto& progress) {
        EmbedOptions options = shared->options;
        options.progress = progress;
        return embed(engine, shared->inputs, options);
      },
      [shared, model = of.head.model](const auto& vectors) {
        return embedding_json(*shared, model, vectors);
      });
}

std::unique_ptr<Run> run_of(const RunKind&, ScoringRequest request, const RunContext& of,
                            RunEvents events) {
  const std::size_t tokens = request.tokens();
  const auto shared = std::make_shared<const ScoringRequest>(std::move(request));
  return call_run(
      std::move(events), tokens,
      [shared, engine = of.engine](const auto& progress) {
        return std::move(run_scoring(engine, {shared.get(), 1}, progress).front());
      },
      [shared, model = of.engine.model(), tokenizer = of.tokenizer](const ScoringResult& result) {
        return scoring_json(*shared, result, model, tokenizer);
      });
}

std::unique_ptr<Run> run_of(const RunKind& kind, InspectionRequest request, const RunContext& of,
                            RunEvents events) {
  const std::size_t tokens = request.tokens.size();
  const auto shared = std::make_shared<const InspectionRequest>(std::move(request));
  const bool is_page = kind.name == kPageKind;
  return call_run(
      std::move(events), tokens,
      [shared, engine = of.engine](const auto& progress) {
        return run_inspection(engine, *shared, progress);
      },
      [shared, is_page, model = of.head.model, engine = of.engine,
       tokenizer = of.tokenizer](const InspectionResult& found) -> Json {
        const InspectedModel inspected = {model, engine.model(), tokenizer};
        if (is_page) return inspection_page(*shared, found, inspected);
        return inspection_json(*shared, found, inspected);
      });
}

std::unique_ptr<Run> run_of(const RunKind&, TokensRequest request, const RunContext&,
                            RunEvents events) {
  return call_run(
      std::move(events), 0, [answer = std::move(request.answer)](const auto&) { return answer; },
      [](const Json& answer) { return answer; });
}

template <auto read>
Request read_as(const json& body, const RequestContext& context) {
  return read(body, context);
}

// The same for OpenAI's answers that consist of texts.
template <auto read>
Request read_texts_as(const json& body, const RequestContext& context) {
  if (!context.tokenizer)
    reject("a chat needs a tokenizer, and there is none: continue token ids instead");
  return read(body, context);
}

InspectionRequest read_page_request(const json& body, const RequestContext& context) {
  InspectionRequest request = read_inspection_request(body, context);
  request.with_attention = true;  // the page always shows it
  return request;
}

constexpr RunKind kKinds[] = {
    {"generate", "", read_as<read_generate_request>, own_form, /*is_own=*/true},
    {"completions", "/v1/completions", read_as<read_completion_request>, completion_form, false,
     "cmpl-"},
    {"chat", "/v1/chat/completions", read_texts_as<read_chat_request>, chat_form, false,
     "chatcmpl-"},
    {"responses", "/v1/responses", read_texts_as<read_responses_request>, responses_form, false,
     "resp_"},
    {"embeddings", "/v1/embeddings", read_as<read_embedding_request>},
    {"score", "", read_as<read_texts_to_score>, nullptr, /*is_own=*/true},
    {"choices", "", read_as<read_choices_to_score>},
    {"inspect", "", read_as<read_inspection_request>},
    {kPageKind, "/inspect", read_as<read_page_request>},
    {"tokenize", "/tokenize", read_as<read_tokenize_request>},
    {"detokenize", "/detokenize", read_as<read_detokenize_request>}};

}  // namespace

std::span<const RunKind> run_kinds() { return kKinds; }

const RunKind& run_kind(std::string_view name) {
  std::string names;
  for (const RunKind& kind : kKinds) {
    if (kind.name == name) return kind;
    names += concat(names.empty() ? "" : ", ", kind.name);
  }
  reject("the kind: expected one of ", names, "; found '", name, "'");
}

std::unique_ptr<Run> make_run(const RunKind& kind, Request request, const RunContext& of,
                              RunEvents events) {
  return std::visit(
      [&](auto&& read) { return run_of(kind, std::move(read), of, std::move(events)); },
      std::move(request));
}

}  // namespace gpt2
