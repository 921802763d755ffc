#include "cli/overflow_settings.h"

namespace gpt2::cli {

void add_overflow_options(CLI::App& app, GenerationOptions& generation) {
  const auto set_overflow = [&generation](const std::string& name) {
    generation.overflow = name == "slide" ? Overflow::slide : Overflow::stop;
    if (name == "slide" || name == "stop") return;
    throw UsageError("--overflow", "expected stop or slide, found '" + name + "'");
  };
  app.option_defaults()->group("How long the text is");
  app.add_option_function<std::string>("--overflow", set_overflow,
                                       "When the context is full, end the text (default), or "
                                       "slide: drop the older half of it, and continue")
      ->option_text("stop|slide");
  add_number(app, "--keep", generation.keep, 0, 1 << 24,
             "The number of tokens at the beginning that a slide keeps")
      ->needs("--overflow");
  app.option_defaults()->group("Options");
}

}  // namespace gpt2::cli
