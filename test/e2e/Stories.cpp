//===- Stories.cpp --------------------------------------------------------===//

#include "test/e2e/Stories.h"

#include <fstream>
#include <iterator>
#include <sstream>

using namespace weft::e2e;

static std::vector<int32_t> readNumbers(const std::string &line) {
  std::istringstream stream(line.substr(line.find(' ')));
  return std::vector<int32_t>(std::istream_iterator<int32_t>(stream), {});
}

std::vector<Story> weft::e2e::readStories() {
  std::string folder = WEFT_SOURCE_DIR "/test/e2e/golden/stories260k/";
  std::ifstream text(folder + "golden_greedy.txt");
  std::ifstream logits(folder + "golden_first_logits_f32.bin",
                       std::ios::binary);
  std::vector<Story> stories;
  bool inText = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("TOP8_FIRST"))
      inText = false;
    if (inText)
      stories.back().text += "\n" + line;
    if (line.starts_with("PROMPT '"))
      stories.push_back({line.substr(8, line.size() - 9), {}, {}, {}, {}});
    else if (line.starts_with("PROMPT_IDS "))
      stories.back().promptIds = readNumbers(line);
    else if (line.starts_with("GEN_IDS "))
      stories.back().ids = readNumbers(line);
    else if (line.starts_with("TEXT ")) {
      stories.back().text = line.substr(5);
      inText = true;
    }
  }
  for (Story &story : stories) {
    size_t end = story.text.find("\n<s>");
    if (end != std::string::npos)
      story.text.resize(end);
    story.firstLogits.resize(512);
    logits.read(reinterpret_cast<char *>(story.firstLogits.data()), 4 * 512);
  }
  return logits ? stories : std::vector<Story>();
}
