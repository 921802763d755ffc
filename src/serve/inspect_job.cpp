#include "serve/inspect_job.h"

#include <utility>

#include "base/fail.h"

namespace gpt2::serve {
namespace {

class InspectJob : public Job {
 public:
  InspectJob(const ServedModel& model, InspectionRequest request, std::shared_ptr<Call> call)
      : Job(std::move(call)), model_(model), request_(std::move(request)) {}

  [[nodiscard]] bool has_own_passes() const override { return true; }

  void compute(const std::function<void()>& between) override {
    const InspectionResult result =
        run_inspection(model_.engine, request_, [&](double) { pause(between); });
    const InspectedModel of = {model_.name, model_.engine.model(), model_.tokenizer};
    std::string page = inspection_page(request_, result, of);
    call_->metrics.count_tokens(request_.tokens.size(), 0);
    call_->send({.body = std::move(page), .content_type = "text/html; charset=utf-8"});
  }

 private:
  const ServedModel& model_;
  const InspectionRequest request_;
};

}  // namespace

std::unique_ptr<Job> inspect_job(const ServedModel& model, InspectionRequest request,
                                 std::shared_ptr<Call> call) {
  constexpr std::size_t kMaxWeights = 16 << 20;  // two bytes each, before base64
  const std::size_t heads = model.config.n_layer * model.config.n_head;
  const std::size_t tokens = request.tokens.size();
  if (heads * tokens * (tokens + 1) / 2 > kMaxWeights) {
    reject("prompt: ", tokens, " tokens are too many for a page of a moderate size: ",
           "give a shorter text, or use 'gpt2 inspect'");
  }
  request.with_attention = true;  // the page always shows them
  return std::make_unique<InspectJob>(model, std::move(request), std::move(call));
}

}  // namespace gpt2::serve
