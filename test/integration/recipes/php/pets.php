<?php
// Run by: npx animal-adoption-store exec --strict -- php pets.php
function send(string $method, string $url, ?array $body = null, string $key = ''): array
{
    $headers = "Content-Type: application/json\r\nAuthorization: Bearer $key";
    $http = ['method' => $method, 'header' => $headers, 'ignore_errors' => true];
    if ($body !== null) {
        $http['content'] = json_encode($body);
    }
    $content = file_get_contents($url, false, stream_context_create(['http' => $http]));
    return json_decode($content, true, 512, JSON_BIGINT_AS_STRING) ?? [];
}

// Not assert, which PHP may be set to leave out.
function expect(bool $isAsExpected): void
{
    if (!$isAsExpected) {
        throw new Exception('not as expected');
    }
}

$base = getenv('ADOPTION_STORE_BASE_URL');
$key = getenv('ADOPTION_STORE_API_KEY');
$control = getenv('ADOPTION_STORE_CONTROL_URL');

send('POST', "$control/faults", ['kind' => 'status', 'status' => 503, 'operation' => 'createPet']);
$pet = ['name' => 'Ada', 'categoryId' => 1];
expect(send('POST', "$base/pets", $pet, $key)['code'] === 'storage_unavailable');
expect(send('POST', "$base/pets", $pet, $key)['id'] === 1);
expect(count(send('GET', "$base/pets", null, $key)) === 1);
echo "ok\n";
