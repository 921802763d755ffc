#include "c_api/run_work.h"

#include <functional>
#include <utility>
#include <vector>

#include "c_api/handles.h"
#include "requests/chat.h"
#include "requests/completion_run.h"
#include "requests/embedding.h"
#include "requests/options.h"
#include "requests/own_form.h"
#include "requests/tokens.h"

namespace gpt2::c_api {
namespace {

using WriteTexts =
    std::function<Json(const CompletionRequest&, const std::vector<CompletedPrompt>&)>;

class TextWork final : public Work {
 public:
  TextWork(CompletionRun run, WriteTexts write) : run_(std::move(run)), write_(std::move(write)) {}

  bool step() override {
    if (run_.step()) return true;
    prompts_ = run_.result();
    return false;
  }

  [[nodiscard]] std::size_t size() const override {
    constexpr std::size_t kToken = 16, kLogprob = 80, kText = 400;
    std::size_t size = 0;
    for (const CompletedPrompt& prompt : prompts_) {
      for (const CompletionChoice& choice : prompt.choices) {
        size += kText + 2 * choice.text.size() + kToken * choice.result.tokens.size();
        for (const auto& logprob : choice.result.logprobs) {
          size += kLogprob * (1 + logprob.top.size());
        }
      }
    }
    return size;
  }

  [[nodiscard]] Json json() const override { return write_(run_.request(), prompts_); }

 private:
  CompletionRun run_;
  const WriteTexts write_;
  std::vector<CompletedPrompt> prompts_ = {};
};

// Work that one call does, which calls a function with its progress.
template <class Result>
class CallWork final : public Work {
 public:
  using Compute = std::function<Result(const std::function<void(double)>&)>;

  CallWork(RunStatePointer state, std::size_t size, Compute compute,
           std::function<Json(const Result&)> write)
      : state_(std::move(state)),
        size_(size),
        compute_(std::move(compute)),
        write_(std::move(write)) {}

  bool step() override {
    if (!state_->goes_on()) throw Cancelled();
    result_ = compute_([state = state_](double share) {
      state->share = share;
      if (!state->goes_on()) throw Cancelled();
    });
    return false;
  }

  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] Json json() const override { return write_(*result_); }

 private:
  const RunStatePointer state_;
  const std::size_t size_;
  const Compute compute_;
  const std::function<Json(const Result&)> write_;
  std::optional<Result> result_ = {};
};

RunEvents events_of(const RunStatePointer& state) {
  RunEvents events;
  events.goes_on = [state] { return state->goes_on(); };
  events.on_prompt = [state](std::size_t read, std::size_t total) {
    state->share = static_cast<double>(read) / static_cast<double>(total);
  };
  events.on_piece = [state](std::size_t index, const CompletionPiece& piece) {
    const gpt2_on_token on_token = state->callbacks.on_token;
    if (!on_token || state->is_freed) return;
    const char* const text = piece.text.empty() ? "" : piece.text.data();
    if (!on_token(state->callbacks.user, index, piece.token.value_or(-1), text,
                  piece.text.size())) {
      state->is_cancelled = true;
    }
  };
  return events;
}

// Sets what callbacks and members of the request that only this interface has say, and removes
// these members.
void take_own_members(JsonArgument& request, std::size_t vocab_size, const RunStatePointer& state,
                      GenerationOptions& options) {
  constexpr const char* kNames[] = {"prompt_lookup", "constant_draft", "hash_logits",
                                    "max_draft_tokens", "stop_tokens"};
  Members& members = request.members();
  options.prompt_lookup = members.flag(kNames[0]).value_or(false);
  options.constant_draft = members.flag(kNames[1]).value_or(false);
  options.hash_logits = members.flag(kNames[2]).value_or(false);
  options.max_draft_tokens =
      members.count(kNames[3], 1, GenerationOptions::kMaxDraft).value_or(options.max_draft_tokens);
  if (const nlohmann::json* const ids = members.find(kNames[4])) {
    options.stop_tokens = TokenReader{std::nullopt, vocab_size}.read_ids(*ids, kNames[4]);
  }
  for (const char* const name : kNames) request.remove(name);
  const gpt2_callbacks& callbacks = state->callbacks;
  if (callbacks.draft) options.draft = checked(callbacks.draft).model;
  if (!callbacks.on_scores) return;
  options.sampling.processors.push_back(
      [state](std::span<float> scores, std::span<const TokenId> ids) {
        if (state->is_freed) throw Cancelled();
        processor_of(state->callbacks.on_scores, state->callbacks.user)(scores, ids);
      });
}

WriteTexts own_writer(const std::optional<Tokenizer>& tokenizer) {
  return [tokenizer](const CompletionRequest& request, const auto& prompts) {
    return own_json(request, tokenizer, prompts);
  };
}

const Config& config_of(const RunArguments& of) { return of.scheduler->engine.model().config(); }

const Tokenizer& need_tokenizer(const RunArguments& of) {
  if (!of.tokenizer) reject("a run of this kind needs a tokenizer, found NULL");
  return *of.tokenizer;
}

WorkPointer write(const RunArguments& of, CompletionRequest request, WriteTexts write_texts) {
  CompletionRun run(of.scheduler->engine, of.scheduler->scheduler, of.tokenizer, std::move(request),
                    events_of(of.state));
  return std::make_unique<TextWork>(std::move(run), std::move(write_texts));
}

WorkPointer generate(const RunArguments& of) {
  GenerationOptions defaults = own_defaults();
  take_own_members(of.request, config_of(of).vocab_size, of.state, defaults);
  return write(of,
               read_completion_request(of.request.root(), {of.tokenizer, config_of(of), defaults}),
               own_writer(of.tokenizer));
}

AnswerHead head_of(const RunArguments& of) { return {.model = of.scheduler->model_name}; }

WorkPointer complete(const RunArguments& of) {
  const Tokenizer& tokenizer = need_tokenizer(of);
  const GenerationOptions defaults = openai_defaults();
  return write(
      of, read_completion_request(of.request.root(), {of.tokenizer, config_of(of), defaults}),
      [tokenizer, head = head_of(of)](const CompletionRequest& request, const auto& prompts) {
        return completion_json(head, request, tokenizer, prompts);
      });
}

WorkPointer chat(const RunArguments& of) {
  const Tokenizer& tokenizer = need_tokenizer(of);
  const GenerationOptions defaults = openai_defaults();
  return write(
      of,
      read_chat_request(of.request.root(), {of.tokenizer, config_of(of), defaults},
                        ChatForm::transcript),
      [tokenizer, head = head_of(of)](const CompletionRequest& request, const auto& prompts) {
        return chat_json(head, request, tokenizer, prompts[0]);
      });
}

WorkPointer embed_texts(const RunArguments& of) {
  constexpr std::size_t kNumber = 24;
  const GenerationOptions defaults;
  EmbeddingRequest request =
      read_embedding_request(of.request.root(), {of.tokenizer, config_of(of), defaults});
  const std::size_t size = kNumber * config_of(of).n_embd * request.inputs.size();
  using Vectors = std::vector<std::vector<float>>;
  return std::make_unique<CallWork<Vectors>>(
      of.state, size,
      [request, engine = of.scheduler->engine](const auto& progress) {
        EmbedOptions options = request.options;
        options.progress = progress;
        return embed(engine, request.inputs, options);
      },
      [request, name = of.scheduler->model_name](const Vectors& vectors) {
        return embedding_json(request, name, vectors);
      });
}

constexpr std::pair<std::string_view, WorkPointer (*)(const RunArguments&)> kKinds[] = {
    {"generate", generate}, {"completions", complete}, {"chat", chat}, {"embeddings", embed_texts}};

// Reads what differs in a session: its tokens are the beginning of the text.
CompletionRequest read_in_session(JsonArgument& body, const RequestContext& context,
                                  std::size_t position) {
  CompletionRequest request = read_completion_request(body.root(), context);
  CompletionPrompt& prompt = request.prompts.at(0);
  if (prompt.is_empty && position > 0) prompt.tokens.clear();
  if (const auto max_length = read_max_length(body.members())) {
    prompt.max_new_tokens = new_tokens(*max_length, position + prompt.tokens.size());
  }
  return request;
}

}  // namespace

bool RunState::goes_on() {
  if (is_cancelled || is_freed) return false;
  if (callbacks.on_progress && !callbacks.on_progress(callbacks.user, share)) is_cancelled = true;
  return !is_cancelled;
}

LogitsProcessor processor_of(gpt2_on_scores on_scores, void* user) {
  return [=](std::span<float> scores, std::span<const TokenId> ids) {
    if (!on_scores(user, scores.data(), scores.size(), ids.data(), ids.size())) throw Cancelled();
  };
}

WorkPointer make_work(const std::string& kind, const RunArguments& arguments) {
  std::string names;
  for (const auto& [name, make] : kKinds) {
    if (kind == name) return make(arguments);
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  reject("the kind: expected one of ", names, "; found '", kind, "'");
}

WorkPointer make_work_in(Session& session, const std::optional<Tokenizer>& tokenizer,
                         JsonArgument& request, const RunStatePointer& state) {
  const Config& config = session.model().config();
  GenerationOptions defaults = own_defaults();
  take_own_members(request, config.vocab_size, state, defaults);
  CompletionRequest read =
      read_in_session(request, {tokenizer, config, defaults}, session.position());
  return std::make_unique<TextWork>(
      CompletionRun(session, tokenizer, std::move(read), events_of(state)), own_writer(tokenizer));
}

}  // namespace gpt2::c_api
