#include "control/controller/request_table.hpp"

#include <utility>

namespace crossdock::control {

Error RequestTable::used_before(RequestId request) {
  return make_error(
      ErrorCode::kInvalidArgument,
      "request id {} was used for something else before; draw a new one for every request",
      text_of(request));
}

void RequestTable::begin(RequestId request, Outcome outcome) {
  if (request != RequestId()) outcomes_.insert_or_assign(request, std::move(outcome));
}

void RequestTable::finish(RequestId request, Error why_gone) {
  if (request == RequestId()) return;
  outcomes_.insert_or_assign(request, std::move(why_gone));
  finished_.push_back(request);
  if (finished_.size() > kFinishedRequestsMax) {
    outcomes_.erase(finished_.front());
    finished_.pop_front();
  }
}

}  // namespace crossdock::control
