#include "serve/inspect_job.h"

#include <utility>

namespace gpt2::serve {
namespace {

class InspectJob : public Job {
 public:
  InspectJob(const ServedModel& model, std::vector<TokenId> tokens, InspectPage page,
             std::shared_ptr<Call> call)
      : Job(std::move(call)), model_(model), tokens_(std::move(tokens)), page_(std::move(page)) {}

  [[nodiscard]] bool has_own_passes() const override { return true; }

  void compute(const std::function<void()>& between) override {
    std::string page = page_(model_, tokens_, [&] { pause(between); });
    call_->metrics.count_tokens(tokens_.size(), 0);
    call_->send({.body = std::move(page), .content_type = "text/html; charset=utf-8"});
  }

 private:
  const ServedModel& model_;
  const std::vector<TokenId> tokens_;
  const InspectPage page_;
};

}  // namespace

std::unique_ptr<Job> inspect_job(const ServedModel& model, std::vector<TokenId> tokens,
                                 InspectPage page, std::shared_ptr<Call> call) {
  return std::make_unique<InspectJob>(model, std::move(tokens), std::move(page), std::move(call));
}

}  // namespace gpt2::serve
