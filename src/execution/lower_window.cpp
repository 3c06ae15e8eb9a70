// Window functions: a pipeline makes the table that they sort.
#include "execution/lowering.hpp"
#include "operators/window/table_window.hpp"

namespace crossdock::execution {

Result<Chain> Lowering::lower_window(const plan::Node& node) {
  CD_ASSIGN(Chain chain, lower(node.input()));
  CD_ASSIGN(TablePtr table, materialise(std::move(chain)));
  const int64_t rows = table->rows;
  const auto& spec = std::get<plan::Window>(node.operation).spec;
  CD_ASSIGN(auto window, operators::TableWindow::create(spec, std::move(table), environment_));
  return operator_chain(std::move(window), "window", true, rows);
}

}  // namespace crossdock::execution
