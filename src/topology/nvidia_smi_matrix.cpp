// See nvidia_smi_matrix.hpp. Columns are separated by white space alone: tabs do not survive being copied, and what
// stands in a cell has no spaces.
#include "topology/nvidia_smi_matrix.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <span>

#include <fmt/ranges.h>

#include "base/text_cut.hpp"
#include "topology/graph.hpp"
#include "topology/vertex_names.hpp"

namespace crossdock::topology {
namespace {

constexpr ErrorCode kMatrixCode = ErrorCode::kInvalidTopology;
constexpr size_t kShownBytesMax = 40;

struct Word {
  std::string_view text;
  size_t column = 0;
};

struct Line {
  std::vector<Word> words;
  size_t number = 0;
  size_t end = 0;  // the column after the last word
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return static_cast<unsigned char>(c) <= ' ' && c != '\x1b'; }

// Bytes of a terminal code at `at`: "\x1b[4m". Where a text was copied from a web page, only "[4m" is left of it.
size_t terminal_code_at(std::string_view text, size_t at) {
  size_t end = at;
  const bool has_escape = text[end] == '\x1b';
  if (has_escape) ++end;
  if (end == text.size() || text[end] != '[') return has_escape ? 1 : 0;
  ++end;
  const size_t first = end;
  while (end < text.size() && (is_digit(text[end]) || text[end] == ';')) ++end;
  if (end == text.size()) return has_escape ? end - at : 0;
  if (!has_escape && (end == first || text[end] != 'm')) return 0;
  return end + 1 - at;
}

Line words_of(std::string_view text, size_t number) {
  Line line;
  line.number = number;
  size_t first = 0;
  const auto close = [&](size_t end) {
    if (end > first) line.words.push_back({text.substr(first, end - first), first + 1});
    if (end > first) line.end = end + 1;
  };
  size_t at = 0;
  while (at < text.size()) {
    const size_t skipped = is_space(text[at]) ? 1 : terminal_code_at(text, at);
    if (skipped > 0) {
      close(at);
      first = at + skipped;
    }
    at += std::max<size_t>(skipped, 1);
  }
  close(text.size());
  return line;
}

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(words_of(text.substr(0, end), number));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

template <class... Arguments>
Error misfit(const Line& line,
             size_t column,
             fmt::format_string<Arguments...> form,
             Arguments&&... arguments) {
  return Error{kMatrixCode,
               fmt::format("line {}, column {}: {}",
                           line.number,
                           column,
                           fmt::format(form, std::forward<Arguments>(arguments)...))};
}

std::string shown_cell(std::string_view text) {
  std::string kept(text.substr(0, kShownBytesMax));
  for (char& c : kept) {
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = '?';
  }
  return kept;
}

// The whole of `text` as a number from 0 to `most`.
std::optional<int> number_of(std::string_view text, int most) {
  int value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = failure == std::errc() && end == text.data() + text.size();
  return is_whole && is_digit(text[0]) && value <= most ? std::optional(value) : std::nullopt;
}

// The number of "GPU3" and "NIC3".
std::optional<int> numbered(std::string_view text, std::string_view stem) {
  if (!text.starts_with(stem)) return std::nullopt;
  return number_of(text.substr(stem.size()), 9999);
}

std::optional<SmiPair> pair_of(std::string_view cell) {
  using enum SmiRelation;
  constexpr std::pair<std::string_view, SmiRelation> kCells[] = {{"X", kSelf},
                                                                 {"PIX", kPix},
                                                                 {"PXB", kPxb},
                                                                 {"PHB", kPhb},
                                                                 {"NODE", kNode},
                                                                 {"SYS", kSys},
                                                                 {"SOC", kSys}};
  for (const auto& [name, relation] : kCells) {
    if (cell == name) return SmiPair{relation, 0};
  }
  const std::optional<int> nvlinks = numbered(cell, "NV");
  if (nvlinks && *nvlinks >= 1 && *nvlinks <= kSmiNvlinksMax) return SmiPair{kNvlink, *nvlinks};
  return std::nullopt;
}

// A line that begins with a GPU, and goes on with anything but the cells of a row.
bool is_header(const Line& line) {
  if (line.words.empty() || !line.words[0].text.starts_with("GPU") ||
      line.words[0].text.size() < 4 || !is_digit(line.words[0].text[3])) {
    return false;
  }
  return line.words.size() == 1 || !pair_of(line.words[1].text);
}

class MatrixReader {
 public:
  explicit MatrixReader(std::string_view text) : lines_(lines_of(text)) {}

  Result<SmiMatrix> read() {
    const auto header = std::ranges::find_if(lines_, &is_header);
    if (header == lines_.end()) {
      return make_error(kMatrixCode,
                        "none of the {} lines is the header of a matrix, 'GPU0 GPU1 ...'; "
                        "`nvidia-smi topo -m` prints one",
                        lines_.size());
    }
    header_ = &*header;
    CD_TRY(read_header());
    seen_.assign(matrix_.devices.size(), nullptr);
    matrix_.pairs.resize(matrix_.devices.size() * matrix_.devices.size());
    columns_.resize(matrix_.pairs.size());
    const size_t first = static_cast<size_t>(header - lines_.begin()) + 1;
    CD_TRY(read_rows(first));
    CD_TRY(check_pairs());
    for (size_t i = 0; i < first; ++i) read_model(lines_[i]);
    for (size_t i = first; i < lines_.size(); ++i) read_legend(lines_[i]);
    CD_TRY(check_names());
    return std::move(matrix_);
  }

 private:
  enum class Column : uint8_t { kCpus, kNumaNode, kMemoryNode };

  // Which columns beside the devices; how many words the name of one has.
  static std::optional<std::pair<Column, size_t>> affinity_at(std::span<const Word> words) {
    const auto is = [&](std::initializer_list<std::string_view> names) {
      return words.size() >= names.size() &&
             std::equal(names.begin(), names.end(), words.begin(), [](auto name, const Word& word) {
               return name == word.text;
             });
    };
    if (is({"CPU", "Affinity"})) return std::pair(Column::kCpus, 2);
    if (is({"NUMA", "Affinity"})) return std::pair(Column::kNumaNode, 2);
    if (is({"GPU", "NUMA", "ID"})) return std::pair(Column::kMemoryNode, 3);
    return std::nullopt;
  }

  Status read_header() {
    for (size_t i = 0; i < header_->words.size();) {
      if (const auto affinity = affinity_at(std::span(header_->words).subspan(i))) {
        affinities_.push_back(affinity->first);
        i += affinity->second;
        continue;
      }
      const Word& word = header_->words[i++];
      CD_TRY(add_device(word));
    }
    return {};
  }

  Status add_device(const Word& word) {
    const std::optional<int> gpu = numbered(word.text, "GPU");
    const std::optional<int> nic = numbered(word.text, "NIC");
    const bool is_broken =
        !gpu && !nic && (word.text.starts_with("GPU") || word.text.starts_with("NIC"));
    if (is_broken || !affinities_.empty() || word.text.size() > 64) {
      return misfit(*header_,
                    word.column,
                    "'{}' is no column of the matrix. Did columns run together when the text was "
                    "copied? `nvidia-smi topo -m > FILE` keeps them apart",
                    shown_cell(word.text));
    }
    if (matrix_.devices.size() == kSmiDevicesMax) {
      return misfit(*header_, word.column, "more than {} devices", kSmiDevicesMax);
    }
    if (!place_of_.emplace(word.text, matrix_.devices.size()).second) {
      return misfit(*header_, word.column, "'{}' is twice in the header", shown_cell(word.text));
    }
    SmiDevice device;
    device.is_gpu = gpu.has_value();
    device.name = gpu ? fmt::format("gpu{}", *gpu)
                : nic ? fmt::format("nic{}", *nic)
                      : std::string(word.text);
    matrix_.devices.push_back(std::move(device));
    named_at_.emplace_back(header_, word.column);
    return {};
  }

  // Until the legend, or until all rows are read and something else follows.
  Status read_rows(size_t first) {
    size_t rows = 0;
    for (size_t i = first; i < lines_.size(); ++i) {
      const Line& line = lines_[i];
      if (line.words.empty()) continue;
      const auto place = place_of_.find(line.words[0].text);
      if (place != place_of_.end()) {
        CD_TRY(read_row(line, place->second));
        ++rows;
        continue;
      }
      if (rows == matrix_.devices.size() || line.words[0].text == "Legend:") break;
      return misfit(line,
                    line.words[0].column,
                    "'{}' is none of the devices in the header (line {}), and {} of their {} rows "
                    "are missing",
                    shown_cell(line.words[0].text),
                    header_->number,
                    matrix_.devices.size() - rows,
                    matrix_.devices.size());
    }
    const auto missing = std::ranges::find(seen_, nullptr);
    if (missing == seen_.end()) return {};
    const size_t place = static_cast<size_t>(missing - seen_.begin());
    return misfit(*header_,
                  header_->words[place].column,
                  "there is no row for {}; give the whole of what `nvidia-smi topo -m` prints",
                  shown_cell(header_->words[place].text));
  }

  Status read_row(const Line& line, size_t row) {
    const size_t count = matrix_.devices.size();
    if (seen_[row] != nullptr) {
      return misfit(line,
                    line.words[0].column,
                    "{} has a row in line {} already",
                    shown_cell(line.words[0].text),
                    seen_[row]->number);
    }
    seen_[row] = &line;
    for (size_t i = 0; i < count; ++i) {
      if (i + 1 >= line.words.size()) {
        return misfit(line,
                      line.end,
                      "the row of {} ends after {} of {} devices",
                      shown_cell(line.words[0].text),
                      i,
                      count);
      }
      const Word& word = line.words[i + 1];
      const std::optional<SmiPair> pair = pair_of(word.text);
      if (!pair && numbered(word.text, "NV")) {
        return misfit(line,
                      word.column,
                      "'{}' is out of range: a pair has 1 to {} NVLinks",
                      shown_cell(word.text),
                      kSmiNvlinksMax);
      }
      if (!pair) {
        return misfit(line,
                      word.column,
                      "'{}' is none of X, NV#, PIX, PXB, PHB, NODE and SYS. Is it the matrix of "
                      "`nvidia-smi topo -m`, and did columns run together when it was copied?",
                      shown_cell(word.text));
      }
      if ((pair->relation == SmiRelation::kSelf) != (i == row)) {
        return misfit(line,
                      word.column,
                      "'{}' stands where {} meets {}",
                      shown_cell(word.text),
                      matrix_.devices[row].name,
                      matrix_.devices[i].name);
      }
      matrix_.pairs[row * count + i] = *pair;
      columns_[row * count + i] = word.column;
    }
    return read_affinities(line, row);
  }

  Status read_affinities(const Line& line, size_t row) {
    const auto rest = std::span(line.words).subspan(matrix_.devices.size() + 1);
    if (rest.size() > affinities_.size()) {
      return misfit(line,
                    rest[affinities_.size()].column,
                    "'{}' belongs to no column: the header (line {}) has {} beside the devices",
                    shown_cell(rest[affinities_.size()].text),
                    header_->number,
                    affinities_.size());
    }
    if (rest.size() < affinities_.size()) {
      // Rows of NICs have none. Of a row with a part of them, which is empty cannot be seen.
      if (!rest.empty()) ++matrix_.unclear_affinities;
      return {};
    }
    for (size_t i = 0; i < rest.size(); ++i) {
      if (rest[i].text == "N/A") continue;
      CD_TRY(read_affinity(line, rest[i], affinities_[i], matrix_.devices[row]));
    }
    return {};
  }

  static Status read_affinity(const Line& line,
                              const Word& word,
                              Column column,
                              SmiDevice& device) {
    if (column == Column::kCpus) {
      device.cpus = word.text;
      return {};
    }
    const std::string_view first = word.text.substr(0, word.text.find_first_of(",-"));
    const std::optional<int> node = number_of(first, 65535);
    if (!node) {
      return misfit(line, word.column, "'{}' is no NUMA node and not 'N/A'", shown_cell(word.text));
    }
    if (column == Column::kMemoryNode) {
      device.memory_node = *node;
      return {};
    }
    device.numa_node = *node;
    device.has_more_nodes = first.size() < word.text.size();
    return {};
  }

  Status check_pairs() const {
    const size_t count = matrix_.devices.size();
    for (size_t a = 0; a < count; ++a) {
      for (size_t b = 0; b < a; ++b) {
        const bool is_nvlink = matrix_.pair(a, b).relation == SmiRelation::kNvlink;
        const bool are_gpus = matrix_.devices[a].is_gpu && matrix_.devices[b].is_gpu;
        if (matrix_.pair(a, b) == matrix_.pair(b, a) && (!is_nvlink || are_gpus)) continue;
        return misfit(*seen_[a],
                      columns_[a * count + b],
                      "{} and {} are joined by '{}' here, and by '{}' in line {}{}",
                      matrix_.devices[a].name,
                      matrix_.devices[b].name,
                      shown_cell(seen_[a]->words[b + 1].text),
                      shown_cell(seen_[b]->words[a + 1].text),
                      seen_[b]->number,
                      is_nvlink && !are_gpus ? "; NVLinks join GPUs alone" : "");
      }
    }
    return {};
  }

  // "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-...)", as `nvidia-smi -L` prints it.
  void read_model(const Line& line) {
    if (line.words.size() < 3 || line.words[0].text != "GPU" || !line.words[1].text.ends_with(':'))
      return;
    const std::string_view number = line.words[1].text;
    const auto place = place_of_.find(fmt::format("GPU{}", number.substr(0, number.size() - 1)));
    if (place == place_of_.end()) return;
    std::vector<std::string_view> words;
    for (size_t i = 2; i < line.words.size() && !line.words[i].text.starts_with("(UUID"); ++i) {
      words.push_back(line.words[i].text);
    }
    matrix_.devices[place->second].model =
        first_characters(fmt::format("{}", fmt::join(words, " ")), kShownBytesMax * 2);
  }

  // "NIC0: mlx5_0".
  void read_legend(const Line& line) {
    if (line.words.size() != 2 || !line.words[0].text.ends_with(':')) return;
    const std::string_view name = line.words[0].text;
    const auto place = place_of_.find(name.substr(0, name.size() - 1));
    if (place == place_of_.end() || matrix_.devices[place->second].is_gpu) return;
    matrix_.devices[place->second].name = line.words[1].text;
    named_at_[place->second] = {&line, line.words[1].column};
  }

  // Names are those of vertices: each once, and none that a vertex of ours has.
  Status check_names() const {
    std::map<std::string_view, size_t> first;
    for (size_t i = 0; i < matrix_.devices.size(); ++i) {
      const SmiDevice& device = matrix_.devices[i];
      const auto& [line, column] = named_at_[i];
      const auto [known, is_new] = first.emplace(device.name, i);
      if (!is_new) {
        return misfit(*line,
                      column,
                      "two devices are called '{}', the other in line {}, column {}",
                      shown_cell(device.name),
                      named_at_[known->second].first->number,
                      named_at_[known->second].second);
      }
      if (!device.is_gpu && is_own_name(device.name)) {
        return misfit(*line,
                      column,
                      "a NIC cannot be called '{}', as CPUs, GPUs, switches and networks are",
                      shown_cell(device.name));
      }
      if (device.name.size() > kNameBytesMax || device.name.find('/') != std::string::npos) {
        return misfit(*line,
                      column,
                      "a NIC cannot be called '{}': names have 1 to {} bytes and no '/'",
                      shown_cell(device.name),
                      kNameBytesMax);
      }
    }
    return {};
  }

  std::vector<Line> lines_;
  const Line* header_ = nullptr;
  std::vector<Column> affinities_;
  std::map<std::string, size_t, std::less<>> place_of_;
  std::vector<std::pair<const Line*, size_t>>
      named_at_;                   // by device: the line and column of its name
  std::vector<const Line*> seen_;  // by device: its row
  std::vector<size_t> columns_;    // by pair: where it stands in its line
  SmiMatrix matrix_;
};

}  // namespace

Result<SmiMatrix> read_smi_matrix(std::string_view text) {
  if (static_cast<int64_t>(text.size()) > kSmiTextBytesMax) {
    return make_error(
        kMatrixCode, "the text has {} bytes; the most is {}", text.size(), kSmiTextBytesMax);
  }
  return MatrixReader(text).read();
}

}  // namespace crossdock::topology
