#include "execution/run_record.hpp"

#include <algorithm>

#include "operators/run/operator_facts.hpp"
#include "plan/node_text.hpp"

namespace crossdock::execution {

using operators::Facts;

Meters* RunRecord::meters() {
  meters_ = {};
  return measures_ ? &meters_ : nullptr;
}

void RunRecord::add(const Chain& chain, const Sink& sink, Clock::time_point start) {
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  Pipeline& pipeline = pipelines_.emplace_back();
  pipeline.seconds = elapsed.count();
  pipeline.parts.push_back({chain.source->describe(), chain.source_node, -1, 0});
  for (const auto& stage : chain.stages) {
    pipeline.parts.push_back({stage->describe(), stage->node(), -1, 0});
  }
  pipeline.parts.push_back({sink.what, sink.node, sink.rows, 0});
  if (chain.source->rows_of() != nullptr) add_operator(chain, pipeline.parts.front());
  if (meters_.parts.empty()) return;
  // A meter counts what goes into the part behind it, and the time of all that follows.
  const auto& meters = meters_.parts;
  for (size_t p = 0; p < meters.size(); ++p) {
    pipeline.parts[p].rows = meters[p]->rows();
    const double behind = p + 1 < meters.size() ? meters[p + 1]->seconds() : 0;
    pipeline.parts[p + 1].thread_seconds = std::max(0.0, meters[p]->seconds() - behind);
  }
  pipeline.parts.front().thread_seconds = std::max(0.0, meters_.source_seconds());
  // What a sink does once it has all rows.
  pipeline.parts.back().thread_seconds += std::max(0.0, pipeline.seconds - meters_.run_seconds);
}

void RunRecord::add_operator(const Chain& chain, Part& part) {
  const operators::Operator& ran = *chain.source->rows_of();
  const operators::RunProfile& profile = *chain.source->profile();
  ran_[chain.source_node] = operators::run_facts(ran.describe(), profile);
  part.rows = profile.result_rows;
  part.thread_seconds = profile.total_seconds * ran.worker_count();
}

std::unordered_map<const plan::Node*, RunRecord::Measured> RunRecord::measured() const {
  std::unordered_map<const plan::Node*, Measured> by_node;
  for (const Pipeline& pipeline : pipelines_) {
    for (size_t p = 0; p < pipeline.parts.size(); ++p) {
      const Part& part = pipeline.parts[p];
      Measured& sum = by_node[part.node];
      sum.thread_seconds += part.thread_seconds;
      // What a sink keeps leaves its node in another pipeline.
      const bool is_sink = p + 1 == pipeline.parts.size();
      if (!is_sink && part.rows >= 0) sum.rows = part.rows;
    }
  }
  return by_node;
}

std::vector<Facts> RunRecord::operator_facts(const std::vector<const plan::Node*>& nodes,
                                             const Numbers& numbers) const {
  const auto by_node = measured();
  std::vector<Facts> operators;
  for (const plan::Node* node : nodes) {
    Facts facts = plan::node_facts(*node, numbers);
    const auto expected = expected_.find(node);
    if (expected != expected_.end()) facts.push_back({"rows_expected", expected->second});
    const auto sum = by_node.find(node);
    if (sum != by_node.end() && sum->second.rows >= 0) {
      facts.push_back({"rows", sum->second.rows});
    }
    if (measures_ && sum != by_node.end()) {
      facts.push_back({"thread_s", sum->second.thread_seconds});
    }
    const auto ran = ran_.find(node);
    if (ran != ran_.end()) facts.push_back({"plan", ran->second});
    operators.push_back(std::move(facts));
  }
  return operators;
}

Facts RunRecord::pipeline_facts(const Pipeline& pipeline, const Numbers& numbers) const {
  std::string runs;
  std::vector<Facts> parts;
  for (const Part& part : pipeline.parts) {
    runs += (runs.empty() ? "" : " -> ") + part.what;
    Facts& facts = parts.emplace_back();
    facts.push_back({"what", part.what});
    const auto number = numbers.find(part.node);
    if (number != numbers.end()) facts.push_back({"operator", number->second});
    if (part.rows >= 0) facts.push_back({"rows", part.rows});
    if (measures_) facts.push_back({"thread_s", part.thread_seconds});
  }
  return {{"runs", runs},
          {"rows", pipeline.parts.back().rows},
          {"seconds", pipeline.seconds},
          {"parts", std::move(parts)}};
}

Facts RunRecord::facts(const plan::Node& root) const {
  const std::vector<const plan::Node*> nodes = plan::nodes_from(root);
  Numbers numbers;
  for (const plan::Node* node : nodes) numbers[node] = static_cast<int64_t>(numbers.size());
  std::vector<Facts> pipelines;
  for (const Pipeline& pipeline : pipelines_) {
    pipelines.push_back(pipeline_facts(pipeline, numbers));
  }
  return {{"operators", operator_facts(nodes, numbers)}, {"pipelines", std::move(pipelines)}};
}

}  // namespace crossdock::execution
