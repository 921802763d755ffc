#include "cli/beam_settings.h"

#include <string>

namespace gpt2::cli {
namespace {

void check_needed(const CLI::App& app) {
  for (const std::string option : {"--num-return-sequences", "--length-penalty", "--early-stopping",
                                   "--num-beam-groups", "--diversity-penalty"}) {
    if (app.count(option) != 0) {
      throw UsageError(option + " needs --num-beams: give at least 2 beams");
    }
  }
}

// Refuses options that have no effect in beam search, which does not draw or draft tokens, does not
// slide, and does not search the text.
void check_contradictions(const CLI::App& app) {
  const bool is_given = app.count("--num-beams") != 0;
  for (const std::string option :
       {"--temperature", "--top-k", "--top-p", "--min-p", "--typical-p", "--epsilon-cutoff",
        "--eta-cutoff", "--seed", "--samples", "--sequence", "--greedy", "--draft", "--overflow",
        "--stop", "--logprobs", "--state", "--save-state", "--interactive"}) {
    if (app.count(option) == 0) continue;
    throw UsageError(option + " cannot be combined with " +
                     (is_given ? "--num-beams: give only one of them"
                               : "num_beams of the model's generation config: leave it out, or "
                                 "give --num-beams 1"));
  }
}

}  // namespace

void add_beam_options(CLI::App& app, BeamOptions& beams) {
  app.option_defaults()->group("Beam search");
  add_number(app, "--num-beams", beams.num_beams, 1, BeamOptions::kMaxBeams,
             "Search for the most probable text instead of drawing one: keep the N best "
             "beginnings after each token");
  add_number(app, "--num-return-sequences", beams.num_return_sequences, 1, BeamOptions::kMaxBeams,
             "Write the N best texts, each under a line with its number");
  add_number(app, "--length-penalty", beams.length_penalty, -BeamOptions::kMaxLengthPenalty,
             BeamOptions::kMaxLengthPenalty,
             "Divide the sum of a text's log-probabilities by its "
             "length to this power; a larger power favours longer texts");
  const auto set_early_stopping = [&beams](const std::string& text) {
    if (text != "true" && text != "false" && text != "never") {
      throw UsageError("--early-stopping", "expected true, false or never, found '" + text + "'");
    }
    beams.early_stopping = text == "true"    ? EarlyStopping::yes
                           : text == "never" ? EarlyStopping::never
                                             : EarlyStopping::no;
  };
  app.add_option_function<std::string>("--early-stopping", set_early_stopping,
                                       "End as soon as N texts have ended (true), when better "
                                       "ones are unlikely (false, the default) or impossible "
                                       "(never)")
      ->option_text("true|false|never");
  add_number(app, "--num-beam-groups", beams.num_beam_groups, 1, BeamOptions::kMaxBeams,
             "Divide the beams into N groups, each of which avoids the "
             "tokens of the earlier ones");
  add_number(app, "--diversity-penalty", beams.diversity_penalty, 0,
             BeamOptions::kMaxDiversityPenalty,
             "Subtract this from the score of a token for each beam of an "
             "earlier group that has just chosen it");
  app.option_defaults()->group("Options");
}

void take_beam_defaults(const CLI::App& app, BeamOptions& beams, const BeamOptions& config) {
  const auto take = [&](const char* option, auto member) {
    if (app.count(option) == 0) beams.*member = config.*member;
  };
  take("--num-beams", &BeamOptions::num_beams);
  if (beams.num_beams == 1) return;
  take("--num-return-sequences", &BeamOptions::num_return_sequences);
  take("--length-penalty", &BeamOptions::length_penalty);
  take("--early-stopping", &BeamOptions::early_stopping);
  take("--num-beam-groups", &BeamOptions::num_beam_groups);
  take("--diversity-penalty", &BeamOptions::diversity_penalty);
  beams.pad_token_id = config.pad_token_id;
}

void check_beams(const CLI::App& app, const GenerateSettings& settings) {
  const BeamOptions& beams = settings.beams;
  if (beams.num_beams == 1) {
    check_needed(app);
    return;
  }
  check_contradictions(app);
  if (settings.generation.max_new_tokens == 0) {
    throw UsageError("--max-new-tokens", "0 cannot be combined with --num-beams");
  }
  if (beams.num_return_sequences > beams.num_beams) {
    throw UsageError("--num-return-sequences", format("%zu is more than --num-beams, which is %zu",
                                                      beams.num_return_sequences, beams.num_beams));
  }
  if (beams.num_return_sequences > 1 && settings.no_newline) {
    throw UsageError("--no-newline cannot be combined with several sequences");
  }
  if (beams.num_beams % beams.num_beam_groups != 0) {
    throw UsageError("--num-beam-groups", format("%zu does not divide --num-beams, which is %zu",
                                                 beams.num_beam_groups, beams.num_beams));
  }
  if (beams.num_beam_groups > 1 && beams.diversity_penalty == 0.0f) {
    throw UsageError(
        "--num-beam-groups needs --diversity-penalty: without it, all groups are alike");
  }
  if (beams.num_beam_groups == 1 && beams.diversity_penalty != 0.0f) {
    throw UsageError("--diversity-penalty needs --num-beam-groups: give at least 2 groups");
  }
}

}  // namespace gpt2::cli
