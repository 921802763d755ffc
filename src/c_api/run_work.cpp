#include "c_api/run_work.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "c_api/handles.h"
#include "gpt2/sampler.h"
#include "requests/chat.h"
#include "requests/completion_run.h"
#include "requests/embedding.h"
#include "requests/inspection.h"
#include "requests/options.h"
#include "requests/own_form.h"
#include "requests/scoring.h"
#include "requests/tokens.h"

namespace gpt2::c_api {
namespace {

constexpr std::size_t kMaxTextsOfRun = 1 << 20;  // prompts, and texts of each

// Returns about how many bytes the JSON of the texts has.
std::size_t size_of(const std::vector<CompletedPrompt>& prompts) {
  constexpr std::size_t kToken = 16, kLogprob = 80, kText = 400;
  std::size_t size = 0;
  for (const CompletedPrompt& prompt : prompts) {
    for (const CompletionChoice& choice : prompt.choices) {
      size += kText + 2 * choice.text.size() + kToken * choice.result.tokens.size();
      for (const auto& logprob : choice.result.logprobs)
        size += kLogprob * (1 + logprob.top.size());
    }
  }
  return size;
}

using Prompts = std::vector<CompletedPrompt>;
using WriteTexts = std::function<Json(const CompletionRequest&, const Prompts&)>;

Work work_of(CompletionRun made, WriteTexts write_texts) {
  const auto run = std::make_shared<CompletionRun>(std::move(made));
  const auto prompts = std::make_shared<Prompts>();
  return {.step =
              [=] {
                if (run->step()) return true;
                *prompts = run->result();
                return false;
              },
          .json = [=] { return write_texts(run->request(), *prompts); },
          .size = [=] { return size_of(*prompts); }};
}

// Returns work that one call of `compute`, which takes a function for its progress, does.
template <class Compute, class Write>
Work work_of_call(const RunStatePointer& state, std::size_t size, Compute compute, Write write_it) {
  const auto goes_on = [state](double share) {
    state->share = share;
    if (!state->goes_on()) throw Cancelled();
  };
  const auto result = std::make_shared<decltype(compute(goes_on))>();
  return {.step =
              [=] {
                goes_on(0.0);
                *result = compute(goes_on);
                return false;
              },
          .json = [=] { return write_it(*result); },
          .size = [=] { return size; }};
}

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

// Throws Error for an option that the library would refuse when the first text begins.
void check_sampling(const CompletionRequest& request, std::size_t vocab_size) {
  static_cast<void>(Sampler(request.options.sampling, vocab_size));
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

Work write(const RunArguments& of, CompletionRequest request, WriteTexts write_texts) {
  return work_of(CompletionRun(of.scheduler->engine, of.scheduler->scheduler, of.tokenizer,
                               std::move(request), events_of(of.state)),
                 std::move(write_texts));
}

Work generate(const RunArguments& of) {
  GenerationOptions defaults = own_defaults();
  take_own_members(of.request, config_of(of).vocab_size, of.state, defaults);
  RequestContext context = {of.tokenizer, config_of(of), defaults};
  context.max_prompts = context.max_choices = kMaxTextsOfRun;
  CompletionRequest request = read_completion_request(of.request.root(), context);
  check_sampling(request, config_of(of).vocab_size);
  return write(of, std::move(request), own_writer(of.tokenizer));
}

AnswerHead head_of(const RunArguments& of) { return {.model = of.scheduler->model_name}; }

// Calls `read` with the request and the context in which OpenAI's requests are read, but with this
// limit of the number of texts.
template <class Read>
auto read_in_context(const RunArguments& of, const Read& read,
                     std::size_t max_prompts = RequestContext::kMaxPrompts) {
  const GenerationOptions defaults = openai_defaults();
  RequestContext context = {of.tokenizer, config_of(of), defaults};
  context.max_prompts = max_prompts;
  return read(of.request.root(), context);
}

Work complete(const RunArguments& of) {
  return write(of, read_in_context(of, read_completion_request),
               [tokenizer = need_tokenizer(of), head = head_of(of)](const auto& request,
                                                                    const Prompts& prompts) {
                 return completion_json(head, request, tokenizer, prompts);
               });
}

Work chat(const RunArguments& of) {
  const auto read = [](const nlohmann::json& body, const RequestContext& context) {
    return read_chat_request(body, context, ChatForm::transcript);
  };
  return write(of, read_in_context(of, read),
               [tokenizer = need_tokenizer(of), head = head_of(of)](const auto& request,
                                                                    const Prompts& prompts) {
                 return chat_json(head, request, tokenizer, prompts[0]);
               });
}

Work embed_texts(const RunArguments& of) {
  constexpr std::size_t kNumber = 24;
  const EmbeddingRequest request = read_in_context(of, read_embedding_request);
  return work_of_call(
      of.state, kNumber * config_of(of).n_embd * request.inputs.size(),
      [request, engine = of.scheduler->engine](const auto& progress) {
        EmbedOptions options = request.options;
        options.progress = progress;
        return embed(engine, request.inputs, options);
      },
      [request, name = of.scheduler->model_name](const auto& vectors) {
        return embedding_json(request, name, vectors);
      });
}

Work score_with(const RunArguments& of, const ScoringRequest& request) {
  constexpr std::size_t kText = 1200, kLogprob = 80;
  const std::size_t size = kText * (request.texts.size() + request.question.choices.size() + 1) +
                           kLogprob * request.tokens() * (request.options.top_logprobs + 1);
  return work_of_call(
      of.state, size,
      [request, engine = of.scheduler->engine](const auto& progress) {
        return run_scoring(engine, request, progress);
      },
      [request, tokenizer = of.tokenizer](const ScoringResult& result) {
        return scoring_json(request, result, tokenizer);
      });
}

Work score_texts(const RunArguments& of) {
  return score_with(of, read_in_context(of, read_texts_to_score, kMaxTextsOfRun));
}

Work score_choices(const RunArguments& of) {
  return score_with(of, read_in_context(of, read_choices_to_score));
}

Work inspect_text(const RunArguments& of) {
  constexpr std::size_t kNumber = 24;
  const InspectionRequest request = read_in_context(of, read_inspection_request);
  const Config& config = config_of(of);
  const std::size_t tokens = request.tokens.size();
  const std::size_t weights = request.with_attention ? tokens * config.n_head : 1;
  return work_of_call(
      of.state, kNumber * config.n_layer * tokens * (weights + 40 * (request.top + 1)),
      [request, engine = of.scheduler->engine](const auto& progress) {
        return run_inspection(engine, request, progress);
      },
      [request, tokenizer = of.tokenizer, scheduler = of.scheduler](const InspectionResult& found) {
        return inspection_json(request, found,
                               {scheduler->model_name, scheduler->engine.model(), tokenizer});
      });
}

constexpr std::pair<std::string_view, Work (*)(const RunArguments&)> kKinds[] = {
    {"generate", generate},      {"completions", complete}, {"chat", chat},
    {"embeddings", embed_texts}, {"score", score_texts},    {"choices", score_choices},
    {"inspect", inspect_text}};

// Returns how many tokens of a prompt the session has room for, at least one.
std::size_t room_of(const Session& session, Members& members) {
  std::size_t used = session.position();
  if (members.text("overflow") == "slide") {
    used = members.count("keep", 0, session.capacity()).value_or(0);
  }
  return std::max<std::size_t>(session.capacity() - used, 1);
}

// Reads what differs in a session: its tokens are the beginning of the text.
CompletionRequest read_in_session(JsonArgument& body, const Session& session,
                                  const std::optional<Tokenizer>& tokenizer,
                                  const GenerationOptions& defaults) {
  Config config = session.model().config();
  Members& members = body.members();
  if (members.flag("truncate").value_or(false)) config.n_positions = room_of(session, members);
  CompletionRequest request = read_completion_request(body.root(), {tokenizer, config, defaults});
  CompletionPrompt& prompt = request.prompts.at(0);
  if (prompt.is_empty && session.position() > 0) prompt.tokens.clear();
  if (const auto max_length = read_max_length(members)) {
    prompt.max_new_tokens = new_tokens(*max_length, session.position() + prompt.tokens.size());
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

Work make_work(const std::string& kind, const RunArguments& arguments) {
  std::string names;
  for (const auto& [name, make] : kKinds) {
    if (kind == name) return make(arguments);
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  reject("the kind: expected one of ", names, "; found '", kind, "'");
}

Work make_work_in(Session& session, const std::optional<Tokenizer>& tokenizer,
                  JsonArgument& request, const RunStatePointer& state) {
  const std::size_t vocab_size = session.model().config().vocab_size;
  GenerationOptions defaults = own_defaults();
  take_own_members(request, vocab_size, state, defaults);
  CompletionRequest read = read_in_session(request, session, tokenizer, defaults);
  check_sampling(read, vocab_size);
  return work_of(CompletionRun(session, tokenizer, std::move(read), events_of(state)),
                 own_writer(tokenizer));
}

}  // namespace gpt2::c_api
