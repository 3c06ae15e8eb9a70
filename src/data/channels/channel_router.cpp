#include "data/channels/channel_router.hpp"

#include <algorithm>
#include <utility>

#include "data/segments/segment_rows.hpp"

namespace crossdock::channels {
namespace {

class ChannelRouter : public sorters::RowRouter {
 public:
  ChannelRouter(SchemaPtr schema,
                sorters::RouteSpec spec,
                std::unique_ptr<sorters::RowRouter> router)
      : schema_(std::move(schema)),
        spec_(std::move(spec)),
        sent_(schema_),
        router_(std::move(router)) {}

  Status route(const Batch& batch, int64_t begin, std::span<uint16_t> destinations) override {
    if (destinations.empty()) return {};
    if (batch.schema != sent_) CD_TRY(adapt(batch.schema));
    return router_->route(batch, begin, destinations);
  }

 private:
  // On error all stays as it is.
  Status adapt(const SchemaPtr& sent) {
    CD_TRY(segments::check_sent_schema(*sent, *schema_));
    const bool is_alike = std::ranges::all_of(spec_.keys, [this, &sent](int key) {
      return sent->fields[key].type == sent_->fields[key].type;
    });
    // Batches from outside have a schema each; the router of the last one does for all that have its key types.
    if (!is_alike) {
      CD_ASSIGN(router_, sorters::RowRouter::make(sent, spec_));
    }
    sent_ = sent;
    return {};
  }

  SchemaPtr schema_;  // the channel's
  sorters::RouteSpec spec_;
  SchemaPtr sent_;  // the one that was checked last; kept, so that no other can lie in its place
  std::unique_ptr<sorters::RowRouter> router_;  // of keys as in sent_
};

}  // namespace

Result<std::unique_ptr<sorters::RowRouter>> make_channel_router(SchemaPtr schema,
                                                                sorters::RouteSpec spec) {
  CD_ASSIGN(auto router, sorters::RowRouter::make(schema, spec));
  return std::unique_ptr<sorters::RowRouter>(
      std::make_unique<ChannelRouter>(std::move(schema), std::move(spec), std::move(router)));
}

}  // namespace crossdock::channels
