#include "cli/talk_options.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cli/help.h"
#include "cli/nearest.h"
#include "cli/sampling_settings.h"

namespace gpt2::cli {
namespace {

// The options of /set, which change `settings`.
class SetOptions {
 public:
  explicit SetOptions(GenerateSettings& settings) : settings_(settings) {
    add_sampling_options(app_, settings, greedy_);
    app_.set_help_flag();  // --help is not an option of /set
  }

  // Returns the option top_k, or throws UsageError.
  [[nodiscard]] const CLI::Option& find(std::string name) const {
    std::ranges::replace(name, '_', '-');
    const CLI::Option* const option = app_.get_option_no_throw("--" + name);
    if (option != nullptr) return *option;
    std::vector<std::string> names;
    for (const CLI::Option* const known : app_.get_options()) names.push_back(known->get_name());
    const std::string meant = nearest("--" + name, names);
    throw UsageError("/set has no option '" + name + "'" +
                     (meant.empty() ? ": it changes only how tokens are drawn and where a text ends"
                                    : " (did you mean '" + meant.substr(2) + "'?)"));
  }

  void read(Arguments arguments) {
    parse(app_, std::move(arguments));
    settings_.given.merge(given_options(app_));
    if (greedy_) settings_.generation.sampling.temperature = 0.0f;
  }

 private:
  GenerateSettings& settings_;
  CLI::App app_{"Options of /set", "/set"};
  bool greedy_ = false;
};

}  // namespace

void set_option(GenerateSettings& settings, const std::string& words) {
  SetOptions options(settings);
  const std::size_t space = std::min(words.find(' '), words.size());
  Arguments arguments = {options.find(words.substr(0, space)).get_name()};
  if (space < words.size()) arguments.push_back(words.substr(space + 1));
  options.read(std::move(arguments));
}

std::string help_of_option(const std::string& name) {
  GenerateSettings settings;
  return help_entry(SetOptions(settings).find(name));
}

}  // namespace gpt2::cli
